// What holds the namespaces of a pod, as the pause image of Kubernetes does: it waits, and reaps what is left to it.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void end(int s) { (void)s; exit(0); }
int main(void) { signal(SIGTERM, end); signal(SIGINT, end); for (;;) { pause(); while (waitpid(-1, 0, WNOHANG) > 0); } }
