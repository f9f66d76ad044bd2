// A real cluster of one node to test on: etcd, the API server, the controller manager, the scheduler and a kubelet of
// k8s.io/kubernetes, with containerd and runc of the machine. Needs root. Tried with cgroups v1.
//
//	cluster up FOLDER IMAGE.tar...
//
// FOLDER gets everything: keys, state, logs, and the kubeconfig with the contexts "admin", "limited" (no rights), "expired" (a token that
// nobody knows) and "away" (nobody listens). The images are loaded into containerd. When the node is ready, "ready" is printed; all of it
// ends with SIGTERM, or when standard input ends.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// Each part is a process of this same program, as their flags are of the whole process.
func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("usage: cluster up FOLDER IMAGE.tar..."))
	}
	var command *cobra.Command
	switch os.Args[1] {
	case "up":
		if len(os.Args) < 3 {
			fail(fmt.Errorf("usage: cluster up FOLDER IMAGE.tar..."))
		}
		if err := up(os.Args[2], os.Args[3:]); err != nil {
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
	default:
		fail(fmt.Errorf("%s is none of up, etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubelet", os.Args[1]))
	}
	command.SetArgs(os.Args[2:])
	os.Exit(cli.Run(command))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "cluster:", err)
	os.Exit(1)
}
