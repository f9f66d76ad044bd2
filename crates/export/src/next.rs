//! What to do with the files.

use crate::order::BundleOrder;
use crate::target::Target;

/// Says what was written, and what to do with it.
pub fn next(target: Target, order: &BundleOrder<'_>) -> String {
    let BundleOrder { folder, name, image, .. } = order;
    let image = image.map_or("", |image| image.name.as_str());
    let build = format!("docker build -t {image} {folder}");
    let steps = match target {
        Target::Dockerfile => {
            let (cpus, memory, port) = (order.limits.cpus, order.limits.memory.get(), order.listen.port());
            vec![
                build,
                format!(
                    "docker run --rm --cpus {cpus} --memory {memory} --memory-swap {memory} -p {port}:{port} {image}"
                ),
            ]
        }
        Target::Compose => vec![format!("docker compose -f {folder}/compose.yaml up --build")],
        Target::Kubernetes => {
            vec![build, format!("docker push {image}"), format!("kubectl apply -f {folder}/kubernetes.yaml")]
        }
        Target::Knative => {
            vec![build, format!("docker push {image}"), format!("kubectl apply -f {folder}/service.yaml")]
        }
        Target::CloudRun => {
            vec![build, format!("docker push {image}"), format!("gcloud run services replace {folder}/service.yaml")]
        }
        Target::Systemd => vec![
            format!("cp -r {folder}/etc {folder}/srv /"),
            format!("systemd-tmpfiles --create {name}.conf && systemctl daemon-reload"),
            format!("systemctl enable --now {name}.target"),
        ],
        Target::Config => {
            let prepares = order.deployment.preparation.as_ref().is_some_and(|made| !made.programs.is_empty());
            prepares.then(|| format!("{folder}/prepare")).into_iter().chain([format!("{folder}/start")]).collect()
        }
    };
    format!("wrote {folder}; next:\n{}", steps.iter().map(|step| format!("  {step}\n")).collect::<String>())
}
