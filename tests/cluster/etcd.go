package main

import (
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
)

const etcdAddress = "http://127.0.0.1:12379"

// etcd serves from a folder until SIGTERM.
func etcd(folder string) error {
	client, err := url.Parse(etcdAddress)
	if err != nil {
		return err
	}
	peer, err := url.Parse("http://127.0.0.1:12380")
	if err != nil {
		return err
	}
	config := embed.NewConfig()
	config.Dir = folder
	config.LogLevel = "warn"
	config.UnsafeNoFsync = true
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer server.Close()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-ended:
		return nil
	case err := <-server.Err():
		return err
	}
}
