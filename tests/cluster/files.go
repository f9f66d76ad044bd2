package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// What the parts are configured by; %[1]s is the folder.
var files = map[string]string{
	"tokens.csv": "admin-token,admin,1,system:masters\nlimited-token,limited,2\n",
	"kubeconfig": `apiVersion: v1
kind: Config
clusters:
- {name: here, cluster: {server: "https://127.0.0.1:16443", certificate-authority: %[1]s/ca.crt}}
- {name: nowhere, cluster: {server: "https://127.0.0.1:16", certificate-authority: %[1]s/ca.crt}}
users:
- {name: admin, user: {token: admin-token}}
- {name: limited, user: {token: limited-token}}
- {name: expired, user: {token: of-yesterday}}
contexts:
- {name: admin, context: {cluster: here, user: admin, namespace: default}}
- {name: limited, context: {cluster: here, user: limited, namespace: default}}
- {name: expired, context: {cluster: here, user: expired, namespace: default}}
- {name: away, context: {cluster: nowhere, user: admin, namespace: default}}
current-context: admin
`,
	"kubelet.yaml": `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: ` + nodeAddress + `
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: []
evictionHard: {memory.available: "0%%", nodefs.available: "0%%", imagefs.available: "0%%"}
imageGCHighThresholdPercent: 100
containerRuntimeEndpoint: unix://%[1]s/containerd.sock
podCIDR: ` + pods + `
healthzPort: 0
`,
	"containerd.toml": `version = 2
root = "%[1]s/containerd"
state = "%[1]s/containerd-state"
oom_score = 0
[grpc]
  address = "%[1]s/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "%[1]s/cni"
`,
	"cni/10-bridge.conflist": `{"cniVersion": "1.0.0", "name": "pods", "plugins": [
 {"type": "bridge", "bridge": "` + bridge + `", "isGateway": true,
  "ipam": {"type": "host-local", "dataDir": "%[1]s/addresses", "subnet": "` + pods + `", "gateway": "` + nodeAddress + `"}}]}
`,
}

func writeFiles(folder string) error {
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if name != "tokens.csv" {
			text = fmt.Sprintf(text, folder)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
