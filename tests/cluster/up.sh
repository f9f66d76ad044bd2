# Tries nothing, in the cluster that test.sh has started, which reads this.
echo "it is up until standard input ends: export KUBECONFIG=$KUBECONFIG"
cat > "$work/typed"
