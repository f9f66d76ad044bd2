package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	bridge = "stampede0"
	subnet = "10.244.77.0/24"
	// Addresses of a node: its own, and those of its pods.
	addresses = 64
	mostNodes = 4
	groups    = "/sys/fs/cgroup"
)

// node is a kubelet with its containerd. The first is in this network namespace, with the API server; each other one has a namespace of
// its own, and a bridge in it that a cable joins to the first one's: all pods are in one network.
type node struct {
	number int
	name   string
}

func nodes(count int) []node {
	var all []node
	for number := 1; number <= count; number++ {
		all = append(all, node{number, fmt.Sprintf("node-%d", number)})
	}
	return all
}

// at is one of the node's addresses, from 0: its own is the first.
func (n node) at(place int) string {
	return fmt.Sprintf("10.244.77.%d", (n.number-1)*addresses+1+place)
}

func (n node) address() string { return n.at(0) }

// namespace is empty for the first one.
func (n node) namespace() string {
	if n.number == 1 {
		return ""
	}
	return "stampede-" + n.name
}

func (n node) cable() string { return fmt.Sprintf("stampede-v%d", n.number) }

// group is where the control groups of its pods are: kubelets remove what they do not know.
func (n node) group() string { return "stampede-" + n.name }

// within is a command that runs in the node's network, and sees all else as this process does.
func (n node) within(command ...string) []string {
	if n.namespace() == "" {
		return command
	}
	return append([]string{"nsenter", "--net=/run/netns/" + n.namespace(), "--"}, command...)
}

// connect makes the node's network and control groups.
func (n node) connect() error {
	name := n.namespace()
	ip := func(words string) error {
		said, err := exec.Command("ip", strings.Fields(words)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %s: %w: %s", words, err, said)
		}
		return nil
	}
	words := []string{
		"link add " + bridge + " type bridge",
		"address add " + n.address() + "/24 dev " + bridge,
		"link set " + bridge + " up",
	}
	if name != "" {
		words = []string{
			"netns add " + name,
			"link add " + n.cable() + " type veth peer name uplink netns " + name,
			"link set " + n.cable() + " master " + bridge + " up",
			"-n " + name + " link set lo up",
			"-n " + name + " link add " + bridge + " type bridge",
			"-n " + name + " link set uplink master " + bridge + " up",
			"-n " + name + " address add " + n.address() + "/24 dev " + bridge,
			"-n " + name + " link set " + bridge + " up",
		}
	}
	n.disconnect()
	for _, words := range words {
		if err := ip(words); err != nil {
			return err
		}
	}
	return n.makeGroups()
}

// disconnect removes them, as far as they are there.
func (n node) disconnect() {
	if n.namespace() == "" {
		_ = exec.Command("ip", "link", "delete", bridge).Run()
		unproxy()
	} else {
		_ = exec.Command("ip", "link", "delete", n.cable()).Run()
		_ = exec.Command("ip", "netns", "delete", n.namespace()).Run()
	}
	for _, controller := range hierarchies() {
		var found []string
		_ = filepath.WalkDir(filepath.Join(controller, n.group()), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				found = append(found, path)
			}
			return nil
		})
		for i := len(found) - 1; i >= 0; i-- {
			_ = syscall.Rmdir(found[i])
		}
	}
}

func (n node) makeGroups() error {
	for _, controller := range hierarchies() {
		group := filepath.Join(controller, n.group())
		if err := os.MkdirAll(group, 0o755); err != nil {
			return err
		}
		// A new group of this controller has none (cpuset(7)).
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if set, err := os.ReadFile(filepath.Join(controller, file)); err == nil {
				if err := os.WriteFile(filepath.Join(group, file), set, 0o644); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// hierarchies are the hierarchies of control groups: one of version 2, or those of version 1.
func hierarchies() []string {
	if _, err := os.Stat(groups + "/cgroup.controllers"); err == nil {
		return []string{groups}
	}
	found, _ := filepath.Glob(groups + "/*/cgroup.procs")
	var folders []string
	for _, file := range found {
		folders = append(folders, filepath.Dir(file))
	}
	return folders
}
