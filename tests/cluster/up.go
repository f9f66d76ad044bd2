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

const (
	bridge      = "stampede0"
	nodeAddress = "10.244.77.1"
	pods        = "10.244.77.0/24"
	nodeName    = "node-1"
	// How long the parts may take, on a machine that is busy.
	patience = 5 * time.Minute
)

// up starts everything and waits for the end.
func up(folder string, images []string) error {
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
	if err := writeFiles(folder); err != nil {
		return err
	}
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	_ = exec.Command("ip", "link", "add", bridge, "type", "bridge").Run()
	_ = exec.Command("ip", "address", "add", nodeAddress+"/24", "dev", bridge).Run()
	if err := exec.Command("ip", "link", "set", bridge, "up").Run(); err != nil {
		return fmt.Errorf("make the bridge %s: %w", bridge, err)
	}
	defer func() { _ = exec.Command("ip", "link", "delete", bridge).Run() }()

	parts := &parts{folder: folder}
	defer parts.end()
	in := func(name string) string { return filepath.Join(folder, name) }
	self, err := os.Executable()
	if err != nil {
		return err
	}
	starts := [][]string{
		{"containerd", "--config", in("containerd.toml")},
		{self, "etcd", in("etcd")},
		{self, "kube-apiserver", "--etcd-servers=" + etcdAddress, "--bind-address=0.0.0.0", "--secure-port=16443",
			"--advertise-address=" + nodeAddress, "--tls-cert-file=" + in("server.crt"), "--tls-private-key-file=" + in("server.key"),
			"--token-auth-file=" + in("tokens.csv"), "--authorization-mode=RBAC", "--service-cluster-ip-range=10.96.77.0/24",
			"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + in("accounts.key"),
			"--service-account-signing-key-file=" + in("accounts.key"), "--kubelet-preferred-address-types=InternalIP",
			"--endpoint-reconciler-type=none", "--cert-dir=" + folder},
		{self, "kube-controller-manager", "--kubeconfig=" + in("kubeconfig"), "--leader-elect=false", "--secure-port=0",
			"--service-account-private-key-file=" + in("accounts.key"), "--root-ca-file=" + in("ca.crt")},
		{self, "kube-scheduler", "--kubeconfig=" + in("kubeconfig"), "--leader-elect=false", "--secure-port=0"},
		{self, "kubelet", "--config=" + in("kubelet.yaml"), "--kubeconfig=" + in("kubeconfig"), "--hostname-override=" + nodeName,
			"--node-ip=" + nodeAddress, "--root-dir=" + in("kubelet"), "--cert-dir=" + in("kubelet-keys")},
	}
	for _, command := range starts {
		if err := parts.start(command); err != nil {
			return err
		}
	}
	if err := load(ended, in("containerd.sock"), images); err != nil {
		return err
	}
	if err := ready(ended, in("kubeconfig")); err != nil {
		return err
	}
	fmt.Println("ready")
	<-ended.Done()
	return nil
}

// parts are the processes of the cluster.
type parts struct {
	folder  string
	running []*exec.Cmd
}

// start starts one whose log is in the folder, and which ends with this process.
func (p *parts) start(command []string) error {
	name := filepath.Base(command[0])
	if len(command) > 1 && !strings.HasPrefix(command[1], "-") {
		name = command[1]
	}
	log, err := os.Create(filepath.Join(p.folder, name+".log"))
	if err != nil {
		return err
	}
	process := exec.Command(command[0], command[1:]...)
	process.Stdout, process.Stderr = log, log
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := process.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	p.running = append(p.running, process)
	return nil
}

// end ends all of them, the last one first, and the containers that are left.
func (p *parts) end() {
	for i := len(p.running) - 1; i >= 1; i-- {
		_ = p.running[i].Process.Signal(syscall.SIGTERM)
		done := make(chan struct{})
		go func() { _, _ = p.running[i].Process.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			_ = p.running[i].Process.Kill()
		}
	}
	socket := filepath.Join(p.folder, "containerd.sock")
	listed, _ := exec.Command("ctr", "--address", socket, "--namespace", "k8s.io", "tasks", "ls", "-q").Output()
	for _, task := range strings.Fields(string(listed)) {
		_ = exec.Command("ctr", "--address", socket, "--namespace", "k8s.io", "tasks", "rm", "--force", task).Run()
	}
	_ = p.running[0].Process.Signal(syscall.SIGTERM)
	_, _ = p.running[0].Process.Wait()
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

// ready waits until the node is ready and its namespace can have pods.
func ready(ended context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return until(ended, func() error {
		node, err := client.CoreV1().Nodes().Get(ended, nodeName, meta.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == core.NodeReady && condition.Status == core.ConditionTrue {
				_, err := client.CoreV1().ServiceAccounts("default").Get(ended, "default", meta.GetOptions{})
				return err
			}
		}
		return errors.New("the node is not ready")
	})
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
