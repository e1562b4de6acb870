// SPDX-License-Identifier: GPL-2.0-or-later
//! Kubernetes: each batch becomes an Indexed Job with one index for each unit. irqpath writes the
//! manifests and talks to no cluster; the same command, run after the Jobs have ended, counts what
//! they published and writes manifests for what is missing.

use std::io::Write as _;

use serde_json::{Value, json};

use super::{Engine, Ran};
use crate::campaign::error::CampaignError;
use crate::campaign::store::Store;
use crate::campaign::unit::Batch;

/// Most indexes of a Job whose failures are counted for each index; beyond, a Job's status has less
/// room for those that failed.
const MAX_INDEXES: usize = 100_000;
/// Where pods have the claim with the campaign, the cache and the project.
const MOUNT: &str = "/irqpath";

pub struct Kubernetes {
    /// Has irqpath and QEMU.
    pub image: String,
    /// `PersistentVolumeClaim` that every node can write, with the directories `campaign`, `cache`
    /// and `project`.
    pub claim: String,
    /// Pods at a time.
    pub parallelism: u32,
    /// Starts of a unit in all.
    pub attempts: u32,
    /// Owner of the campaign and the cache.
    pub user: u32,
}

impl Kubernetes {
    /// The Job of a batch. JSON is YAML, and nothing in it needs quoting.
    fn describe_job(&self, batch: &Batch) -> Value {
        let nr = batch.units.len();
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": format!("irqpath-campaign-{}", batch.number),
                "labels": { "app.kubernetes.io/name": "irqpath-campaign" },
            },
            "spec": {
                "completionMode": "Indexed",
                "completions": nr,
                "parallelism": nr.min(self.parallelism as usize),
                "backoffLimitPerIndex": self.attempts.saturating_sub(1),
                "maxFailedIndexes": nr,
                // A node that is drained or fails is not the unit's fault.
                "podFailurePolicy": { "rules": [{
                    "action": "Ignore",
                    "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }],
                }] },
                "template": {
                    "metadata": { "labels": { "app.kubernetes.io/name": "irqpath-campaign" } },
                    "spec": self.describe_pod(batch),
                },
            },
        })
    }

    fn describe_pod(&self, batch: &Batch) -> Value {
        // Whole CPUs, and as much requested as allowed: the kubelet's static policy pins such a pod.
        let resources = json!({ "cpu": "1", "memory": format!("{}Mi", batch.memory_mib()) });
        let from = |path: &str| json!({ "fieldRef": { "fieldPath": path } });
        let mut pod = json!({
            "restartPolicy": "Never",
            "activeDeadlineSeconds": batch.limit_s(),
            "automountServiceAccountToken": false,
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": self.user,
                "runAsGroup": self.user,
                "seccompProfile": { "type": "RuntimeDefault" },
            },
            "containers": [{
                "name": "unit",
                "image": self.image,
                "command": ["irqpath", "lab", "unit", format!("{MOUNT}/campaign"),
                            batch.number.to_string(), "$(JOB_COMPLETION_INDEX)"],
                "env": [
                    { "name": "JOB_COMPLETION_INDEX", "valueFrom": from(
                        "metadata.annotations['batch.kubernetes.io/job-completion-index']") },
                    { "name": super::super::WORKER, "valueFrom": from("spec.nodeName") },
                    { "name": "IRQPATH_CACHE", "value": format!("{MOUNT}/cache") },
                    { "name": "IRQPATH_PROJECT", "value": format!("{MOUNT}/project") },
                ],
                "resources": { "requests": resources, "limits": resources },
                "securityContext": {
                    "allowPrivilegeEscalation": false,
                    "readOnlyRootFilesystem": true,
                    "capabilities": { "drop": ["ALL"] },
                },
                "volumeMounts": [
                    { "name": "irqpath", "mountPath": MOUNT },
                    { "name": "tmp", "mountPath": "/tmp" },
                ],
            }],
            "volumes": [
                { "name": "irqpath", "persistentVolumeClaim": { "claimName": self.claim } },
                { "name": "tmp", "emptyDir": {} },
            ],
        });
        if !batch.exclude.is_empty() {
            pod["affinity"] = json!({ "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [{
                    "matchFields": batch.exclude.iter().map(|node| json!({
                        "key": "metadata.name", "operator": "NotIn", "values": [node],
                    })).collect::<Vec<_>>(),
                }] },
            } });
        }
        pod
    }
}

impl Engine for Kubernetes {
    fn list_workers(&self) -> Result<Vec<String>, CampaignError> {
        Ok(Vec::new())
    }

    fn max_tasks(&self) -> Result<usize, CampaignError> {
        Ok(MAX_INDEXES)
    }

    fn finish_earlier(&self, _: &Store) -> Result<bool, CampaignError> {
        Ok(false)
    }

    fn run(&self, store: &Store, batches: &[Batch]) -> Result<Ran, CampaignError> {
        let place = store.directory().create_directory("k8s")?;
        for batch in batches {
            let text = serde_json::to_vec_pretty(&self.describe_job(batch)).unwrap_or_default();
            place.write(format!("{}.json", batch.number), |file| file.write_all(&text))?;
        }
        Ok(Ran::Submitted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::testing::make_batch;

    #[test]
    fn a_job_has_an_index_for_each_unit_and_counts_failures_by_index() {
        let engine = Kubernetes {
            image: "registry.example/irqpath:1".to_owned(),
            claim: "campaign".to_owned(),
            parallelism: 2,
            attempts: 3,
            user: 1000,
        };
        let mut batch = make_batch(4, 5);
        let job = engine.describe_job(&batch);
        let spec = &job["spec"];
        assert_eq!(spec["completionMode"], "Indexed");
        assert_eq!((&spec["completions"], &spec["parallelism"]), (&json!(5), &json!(2)));
        assert_eq!(spec["backoffLimitPerIndex"], 2);
        let pod = &spec["template"]["spec"];
        // Required for a limit of failures by index.
        assert_eq!(pod["restartPolicy"], "Never");
        assert_eq!(pod["activeDeadlineSeconds"], 60);
        let unit = &pod["containers"][0];
        assert_eq!(unit["resources"]["limits"], unit["resources"]["requests"]);
        assert_eq!(unit["command"][4], "4");
        assert!(pod.get("affinity").is_none());
        batch.exclude = ["n1".to_owned(), "n2".to_owned()].into();
        let pod = engine.describe_pod(&batch);
        let terms = &pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            ["nodeSelectorTerms"];
        assert_eq!(terms.as_array().map(Vec::len), Some(1));
        assert_eq!(terms[0]["matchFields"][1]["values"], json!(["n2"]));
    }
}
