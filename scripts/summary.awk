# SPDX-License-Identifier: GPL-2.0-or-later
# Sums up what `cargo test` printed: a row for each crate, each failure in one line, and what was
# skipped. One reason is one line, however many tests gave it; what waits for a variable to be set is
# one line together.

function row(crate) {
  printf "%-20s %6d %6d %8d %8.0f\n", crate, tests[crate], failed[crate], skipped[crate], seconds[crate]
}

function enter_crate(name) {
  crate = name
  gsub(/_/, "-", crate)
  if (!(crate in tests)) { order[++nr_crates] = crate; tests[crate] = 0 }
  suite = crate
}

# The binary's name without its hash.
/^ +Running unittests / {
  name = $NF
  sub(/.*\//, "", name)
  sub(/-[0-9a-f]+\)$/, "", name)
  enter_crate(name)
}
/^ +Running tests\// { suite = $2 }
# All of them come after the last crate's other tests.
/^ +Doc-tests / { enter_crate($2); suite = "examples in the documentation of " crate }

/^test result: / {
  match($0, /[0-9]+ passed/); tests[crate] += substr($0, RSTART, RLENGTH)
  match($0, /[0-9]+ failed/); failed[crate] += substr($0, RSTART, RLENGTH)
  match($0, /finished in [0-9.]+/); time = substr($0, RSTART + 12, RLENGTH - 12)
  seconds[crate] += time
  if (time + 0 > 20) slow = slow sprintf(" %s %.0f s,", suite, time)
}

/^skipped: / {
  skipped[crate]++
  if (match($0, /IRQPATH_[A-Z_]+/)) {
    name = substr($0, RSTART, RLENGTH)
    if (!(name in asked)) asked_order[++nr_asked] = name
    asked[name]++
  } else {
    reason = $0
    sub(/^skipped: /, "", reason)
    gsub(/# [a-z_]+: [0-9]+ ms|# skipped: |; *$/, "", reason)
    if (!(reason in reasons)) reason_order[++nr_reasons] = reason
    reasons[reason]++
  }
}

# A failure: where, and the first lines of what it said.
/^thread '.*' .*panicked at / {
  at = $0
  sub(/.*panicked at /, "", at)
  who = $2
  gsub(/'/, "", who)
  said = ""
  left = 3
  next
}
left > 0 && /^(stack backtrace:|note: |$)/ { left = 0 }
left > 0 { said = said " " substr($0, 1, 300); left--; message[who] = suite ": " who ": " at said }
# An example in the documentation has several words, and its message is a compiler's.
/^test .* \.\.\. FAILED$/ {
  name = substr($0, 6, length($0) - 5 - length(" ... FAILED"))
  sub(/ - compile( fail)?$/, "", name)
  broken[name] = 1
}
/^---- .* stdout ----$/ { shown = substr($0, 6, length($0) - 5 - length(" stdout ----")) }
/^error(\[E[0-9]+\])?: / && shown != "" && !(shown in message) { message[shown] = suite ": " $0 }

END {
  print "crate                 tests failed  skipped  seconds"
  for (i = 1; i <= nr_crates; i++) row(order[i])
  sub(/,$/, "", slow)
  if (slow) print "the slowest suites:" slow
  for (i = 1; i <= nr_reasons; i++) {
    reason = reason_order[i]
    times = (reasons[reason] > 1) ? " (" reasons[reason] " times)" : ""
    printf "skipped: %s%s\n", reason, times
  }
  if (nr_asked) {
    printf "on request:"
    for (i = 1; i <= nr_asked; i++) {
      printf "%s %s (%d)", ((i > 1) ? "," : ""), asked_order[i], asked[asked_order[i]]
    }
    print ""
  }
  for (name in broken) print "error: " ((name in message) ? message[name] : name " failed without a word")
}
