package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"k8s.io/client-go/kubernetes"
)

const (
	// Addresses of services. Pods have a route to them, by their node.
	services    = "10.96.77.0/24"
	metricsPort = 16444
)

// proxy is the kube-proxy of the node. Masquerading all has answers come back by the node where they are translated: else pods answer each
// other on the bridge, and only where br_netfilter is there are such packets translated. The first node is this machine, whose settings stay.
func (n node) proxy(self string, in func(string) string) []string {
	return []string{self, "kube-proxy", "--kubeconfig=" + in("kubeconfig.nodes"), "--hostname-override=" + n.name, "--proxy-mode=iptables",
		"--masquerade-all", "--iptables-localhost-nodeports=false", "--conntrack-max-per-core=0",
		"--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0"}
}

// unproxy removes what a kube-proxy has left in this network namespace; others take it along. Its own clean-up leaves the chain that it shares
// with kubelets.
func unproxy() {
	_ = exec.Command("/proc/self/exe", "kube-proxy", "--cleanup").Run()
	for _, tool := range []string{"iptables", "ip6tables"} {
		for _, words := range []string{"-D INPUT -j KUBE-FIREWALL", "-D OUTPUT -j KUBE-FIREWALL", "-X KUBE-FIREWALL"} {
			_ = exec.Command(tool, strings.Fields(words)...).Run()
		}
	}
}

// aggregation is how the API server asks the metrics server: itself, as it is in no pod's network, and with its own certificate.
func aggregation(in func(string) string) []string {
	return []string{"--enable-aggregator-routing", "--proxy-client-cert-file=" + in("server.crt"), "--proxy-client-key-file=" + in("server.key"),
		"--requestheader-client-ca-file=" + in("ca.crt"), "--requestheader-allowed-names=kube-apiserver",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-"}
}

// metricsServer answers for metrics.k8s.io. It looks as often as it can.
func metricsServer(self string, in func(string) string) []string {
	kubeconfig := in("kubeconfig")
	return []string{self, "metrics-server", "--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig, "--client-ca-file=" + in("ca.crt"), "--cert-dir=" + in("metrics-keys"),
		"--bind-address=" + nodes(1)[0].address(), "--secure-port=" + strconv.Itoa(metricsPort), "--metric-resolution=10s",
		"--kubelet-request-timeout=5s", "--kubelet-insecure-tls", "--kubelet-preferred-address-types=InternalIP"}
}

// register says to the API server where the metrics server is.
func register(ended context.Context, client *kubernetes.Clientset) error {
	for path, object := range map[string]string{
		"/api/v1/namespaces/kube-system/services": fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: metrics-server}
spec: {ports: [{name: https, port: 443, targetPort: %d}]}
`, metricsPort),
		"/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices": fmt.Sprintf(`apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: metrics-server, labels: {kubernetes.io/service-name: metrics-server}}
addressType: IPv4
ports: [{name: https, port: %d}]
endpoints: [{addresses: [%s]}]
`, metricsPort, nodes(1)[0].address()),
		"/apis/apiregistration.k8s.io/v1/apiservices": `apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  group: metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {namespace: kube-system, name: metrics-server, port: 443}
`} {
		answer := client.CoreV1().RESTClient().Post().AbsPath(path).SetHeader("Content-Type", "application/yaml").Body([]byte(object)).Do(ended)
		if err := answer.Error(); err != nil {
			return fmt.Errorf("make what %s has of the metrics server: %w", path, err)
		}
	}
	return nil
}
