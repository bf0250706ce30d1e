// Copy this file into the package of your suite_test.go. Its name must end in _test.go.
package controller

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// recordAudit lets envtest's kube-apiserver write an audit log into $AUDIT_LOG_DIR, by the policy in
// $AUDIT_POLICY_FILE. Without $AUDIT_LOG_DIR it does nothing. Call it before testEnv.Start().
func recordAudit(testEnv *envtest.Environment) error {
	dir, policy := os.Getenv("AUDIT_LOG_DIR"), os.Getenv("AUDIT_POLICY_FILE")
	if dir == "" {
		return nil
	}
	// A test runs in its package's directory.
	if !filepath.IsAbs(dir) || !filepath.IsAbs(policy) {
		return fmt.Errorf("AUDIT_LOG_DIR=%q and AUDIT_POLICY_FILE=%q must be absolute paths", dir, policy)
	}
	// Go tests packages at the same time, each with its own server. So each gets its own file.
	name := fmt.Sprintf("%s-%d.log", filepath.Base(os.Args[0]), os.Getpid())
	testEnv.ControlPlane.GetAPIServer().Configure().
		Append("audit-policy-file", policy).
		Append("audit-log-path", filepath.Join(dir, name))
	return nil
}

// operatorConfig returns the configuration for the manager under test. With it, the manager sends requests as its
// ServiceAccount. So the log distinguishes it from the test, which is an admin. Call it after testEnv.Start().
func operatorConfig(testEnv *envtest.Environment) (*rest.Config, error) {
	user, err := testEnv.AddUser(envtest.User{
		Name:   "system:serviceaccount:my-operator-system:my-operator-controller-manager",
		Groups: []string{"system:masters"},
	}, &rest.Config{QPS: 20, Burst: 30})
	if err != nil {
		return nil, fmt.Errorf("a user for the manager: %w", err)
	}
	return user.Config(), nil
}
