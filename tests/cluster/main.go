// A real cluster to test on: etcd, the API server, the controller manager, the scheduler, kubelets and kube-proxies of k8s.io/kubernetes, and
// the metrics server, with containerd, runc and iptables of the machine. Needs root. Tried with cgroups v1.
//
//	cluster up NODES FOLDER IMAGE.tar...
//
// Each node after the first has a network namespace of its own. FOLDER gets everything: keys, state, logs, and the kubeconfig with the contexts "admin", "limited" (no rights), "expired" (a token that
// nobody knows) and "away" (nobody listens). The images are loaded into each node. When all nodes are ready, "ready" is printed; all of it
// ends with SIGTERM, or when standard input ends. SIGUSR1 ends the API server, and SIGUSR2 starts it again.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
	metrics "sigs.k8s.io/metrics-server/cmd/metrics-server/app"
)

// Each part is a process of this same program, as their flags are of the whole process.
func main() {
	usage := fmt.Errorf("usage: cluster up NODES FOLDER IMAGE.tar..., with 1 to %d nodes", mostNodes)
	if len(os.Args) < 2 {
		fail(usage)
	}
	var command *cobra.Command
	switch os.Args[1] {
	case "up":
		if len(os.Args) < 4 {
			fail(usage)
		}
		count, err := strconv.Atoi(os.Args[2])
		if err != nil || count < 1 || count > mostNodes {
			fail(usage)
		}
		if err := up(os.Args[3], count, os.Args[4:]); err != nil {
			fail(err)
		}
		return
	case "etcd":
		if err := etcd(os.Args[2]); err != nil {
			fail(err)
		}
		return
	case "kube-apiserver":
		command = apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		command = controllers.NewControllerManagerCommand()
	case "kube-scheduler":
		command = scheduler.NewSchedulerCommand()
	case "kubelet":
		command = kubelet.NewKubeletCommand(context.Background())
	case "kube-proxy":
		command = proxy.NewProxyCommand()
	case "metrics-server":
		command = metrics.NewMetricsServerCommand(server.SetupSignalHandler())
	default:
		fail(fmt.Errorf("%s is no part of the cluster", os.Args[1]))
	}
	command.SetArgs(os.Args[2:])
	os.Exit(cli.Run(command))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "cluster:", err)
	os.Exit(1)
}
