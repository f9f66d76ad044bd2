package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// How long the parts may take, on a machine that is busy.
const patience = 5 * time.Minute

// up starts everything and waits for the end. SIGUSR1 ends the API server, SIGUSR2 starts it again.
func up(folder string, count int, images []string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := keys(folder); err != nil {
		return err
	}
	nodes := nodes(count)
	if err := writeFiles(folder, nodes); err != nil {
		return err
	}
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	for _, node := range nodes {
		defer node.disconnect()
		if err := node.connect(); err != nil {
			return err
		}
	}

	parts := &parts{folder: folder}
	defer parts.end()
	in := func(name string) string { return filepath.Join(folder, name) }
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if err := parts.start("containerd-"+node.name, node.within("containerd", "--config", in(node.name+"/containerd.toml"))); err != nil {
			return err
		}
		parts.sockets = append(parts.sockets, in(node.name+"/containerd.sock"))
	}
	server := []string{self, "kube-apiserver", "--etcd-servers=" + etcdAddress, "--bind-address=0.0.0.0", "--secure-port=16443",
		"--advertise-address=" + nodes[0].address(), "--tls-cert-file=" + in("server.crt"), "--tls-private-key-file=" + in("server.key"),
		"--token-auth-file=" + in("tokens.csv"), "--authorization-mode=RBAC", "--service-cluster-ip-range=" + services,
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + in("accounts.key"),
		"--service-account-signing-key-file=" + in("accounts.key"), "--kubelet-preferred-address-types=InternalIP",
		"--endpoint-reconciler-type=none", "--cert-dir=" + folder}
	server = append(server, aggregation(in)...)
	starts := [][]string{
		{self, "etcd", in("etcd")},
		server,
		{self, "kube-controller-manager", "--kubeconfig=" + in("kubeconfig"), "--leader-elect=false", "--secure-port=0",
			"--service-account-private-key-file=" + in("accounts.key"), "--root-ca-file=" + in("ca.crt"),
			"--horizontal-pod-autoscaler-sync-period=5s"},
		{self, "kube-scheduler", "--kubeconfig=" + in("kubeconfig"), "--leader-elect=false", "--secure-port=0"},
	}
	for _, command := range starts {
		if err := parts.start(command[1], command); err != nil {
			return err
		}
	}
	for _, node := range nodes {
		own := func(name string) string { return in(node.name + "/" + name) }
		command := node.within(self, "kubelet", "--config="+own("kubelet.yaml"), "--kubeconfig="+in("kubeconfig.nodes"),
			"--hostname-override="+node.name, "--node-ip="+node.address(), "--root-dir="+own("kubelet"), "--cert-dir="+own("kubelet-keys"))
		if err := parts.start("kubelet-"+node.name, command); err != nil {
			return err
		}
	}
	for _, socket := range parts.sockets {
		if err := load(ended, socket, images); err != nil {
			return err
		}
	}
	client, err := clientOf(in("kubeconfig"))
	if err != nil {
		return err
	}
	if err := ready(ended, client, nodes); err != nil {
		return err
	}
	if err := register(ended, client); err != nil {
		return err
	}
	for _, node := range nodes {
		if err := parts.start("kube-proxy-"+node.name, node.within(node.proxy(self, in)...)); err != nil {
			return err
		}
	}
	if err := parts.start("metrics-server", metricsServer(self, in)); err != nil {
		return err
	}
	fmt.Println("ready")
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1, syscall.SIGUSR2)
	for {
		select {
		case <-ended.Done():
			return nil
		case what := <-asked:
			parts.stop(server[1])
			if what == syscall.SIGUSR2 {
				if err := parts.start(server[1], server); err != nil {
					return err
				}
			}
		}
	}
}

// parts are the processes of the cluster.
type parts struct {
	folder  string
	running []part
	// Where each containerd is asked.
	sockets []string
}

type part struct {
	name    string
	process *exec.Cmd
}

// start starts one whose log is in the folder, and which ends with this process.
func (p *parts) start(name string, command []string) error {
	log, err := os.OpenFile(filepath.Join(p.folder, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	process := exec.Command(command[0], command[1:]...)
	process.Stdout, process.Stderr = log, log
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := process.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	p.running = append(p.running, part{name, process})
	return nil
}

// stop ends the one of this name, where it runs.
func (p *parts) stop(name string) {
	for i, part := range p.running {
		if part.name == name {
			part.end()
			p.running = append(p.running[:i], p.running[i+1:]...)
			return
		}
	}
}

func (p part) end() {
	_ = p.process.Process.Signal(syscall.SIGTERM)
	done := make(chan struct{})
	go func() { _, _ = p.process.Process.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		_ = p.process.Process.Kill()
		<-done
	}
}

// end ends all of them, the last one first, and the containers that are left.
func (p *parts) end() {
	ctr := func(socket string, words ...string) []byte {
		said, _ := exec.Command("ctr", append([]string{"--address", socket, "--namespace", "k8s.io"}, words...)...).Output()
		return said
	}
	for i := len(p.running) - 1; i >= len(p.sockets); i-- {
		p.running[i].end()
	}
	for _, socket := range p.sockets {
		for _, task := range strings.Fields(string(ctr(socket, "tasks", "ls", "-q"))) {
			ctr(socket, "tasks", "rm", "--force", task)
		}
	}
	for i := 0; i < len(p.sockets) && i < len(p.running); i++ {
		p.running[i].end()
	}
	// What containers mounted, the deepest first.
	mounts, _ := os.ReadFile("/proc/self/mounts")
	lines := strings.Split(string(mounts), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if fields := strings.Fields(lines[i]); len(fields) > 1 && strings.HasPrefix(fields[1], p.folder) {
			_ = syscall.Unmount(fields[1], syscall.MNT_DETACH)
		}
	}
}

// load puts images into containerd, once it answers.
func load(ended context.Context, socket string, images []string) error {
	for _, image := range images {
		if err := until(ended, func() error {
			said, err := exec.Command("ctr", "--address", socket, "--namespace", "k8s.io", "images", "import", image).CombinedOutput()
			if err != nil {
				return fmt.Errorf("load %s: %w: %s", image, err, said)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func clientOf(kubeconfig string) (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// ready waits until all nodes are ready and a namespace can have pods.
func ready(ended context.Context, client *kubernetes.Clientset, nodes []node) error {
	return until(ended, func() error {
		for _, node := range nodes {
			found, err := client.CoreV1().Nodes().Get(ended, node.name, meta.GetOptions{})
			if err != nil {
				return err
			}
			if !isReady(found) {
				return fmt.Errorf("%s is not ready", node.name)
			}
		}
		_, err := client.CoreV1().ServiceAccounts("default").Get(ended, "default", meta.GetOptions{})
		return err
	})
}

func isReady(node *core.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == core.NodeReady && condition.Status == core.ConditionTrue {
			return true
		}
	}
	return false
}

// until tries again and again, and gives the last error.
func until(ended context.Context, try func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := try()
		if err == nil || ended.Err() != nil || time.Now().After(deadline) {
			return errors.Join(err, ended.Err())
		}
		time.Sleep(200 * time.Millisecond)
	}
}
