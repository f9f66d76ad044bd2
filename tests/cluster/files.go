package main

import (
	"os"
	"path/filepath"
	"strings"
)

// What the cluster is configured by; @FOLDER is its folder.
var files = map[string]string{
	"tokens.csv":       "admin-token,admin,1,system:masters\nlimited-token,limited,2\n",
	"kubeconfig":       strings.ReplaceAll(kubeconfig, "@SERVER", "https://127.0.0.1:16443"),
	"kubeconfig.nodes": strings.ReplaceAll(kubeconfig, "@SERVER", "https://"+nodes(1)[0].address()+":16443"),
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters:
- {name: here, cluster: {server: "@SERVER", certificate-authority: @FOLDER/ca.crt}}
- {name: nowhere, cluster: {server: "https://127.0.0.1:16", certificate-authority: @FOLDER/ca.crt}}
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
`

// What a node is configured by, in a folder of its own, which @FOLDER is then.
var ofNode = map[string]string{
	"kubelet.yaml": `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: @ADDRESS
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: /@GROUP
failCgroupV1: false
makeIPTablesUtilChains: false
failSwapOn: false
enforceNodeAllocatable: []
evictionHard: {memory.available: "0%", nodefs.available: "0%", imagefs.available: "0%"}
imageGCHighThresholdPercent: 100
containerRuntimeEndpoint: unix://@FOLDER/containerd.sock
podCIDR: ` + subnet + `
podLogsDir: @FOLDER/logs
healthzPort: 0
`,
	"containerd.toml": `version = 2
root = "@FOLDER/containerd"
state = "@FOLDER/containerd-state"
oom_score = 0
[grpc]
  address = "@FOLDER/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  disable_apparmor = true
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "@FOLDER/cni"
`,
	"cni/10-bridge.conflist": `{"cniVersion": "1.0.0", "name": "pods", "plugins": [
 {"type": "bridge", "bridge": "` + bridge + `", "isGateway": true,
  "ipam": {"type": "host-local", "dataDir": "@FOLDER/addresses", "routes": [{"dst": "` + services + `"}],
   "ranges": [[{"subnet": "` + subnet + `", "rangeStart": "@FIRST", "rangeEnd": "@LAST", "gateway": "@ADDRESS"}]]}}]}
`,
}

// writeFiles writes what is configured, for nodes in folders of their own.
func writeFiles(folder string, nodes []node) error {
	if err := writeAll(folder, files, nil); err != nil {
		return err
	}
	for _, node := range nodes {
		values := []string{"@ADDRESS", node.address(), "@GROUP", node.group(),
			"@FIRST", node.at(1), "@LAST", node.at(addresses - 2)}
		if err := writeAll(filepath.Join(folder, node.name), ofNode, values); err != nil {
			return err
		}
	}
	return nil
}

func writeAll(folder string, files map[string]string, values []string) error {
	replaced := strings.NewReplacer(append([]string{"@FOLDER", folder}, values...)...)
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(replaced.Replace(text)), 0o600); err != nil {
			return err
		}
	}
	return nil
}
