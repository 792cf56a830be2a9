/** The texts of `--help`. */
import type { CommandName } from './commands.ts'

const RUN_HELP = `  --apply FILE          apply a manifest (JSON or YAML, "-" for standard input), again when it is
                        saved; may be repeated;
                        --apply NAME=FILE applies it in the cluster of app.cluster(NAME, …)
  --runtime NAME        node, bun or deno; default: the one that this command was called with
  --elect               use the operator's leader election; default: off, because an operator
                        that crashed leaves its Lease behind
  --port N              the port of the API on 127.0.0.1; default: a free one
  --fresh               start without the state and the record of the last runs (in .kubeloop)
  --json                print lines of JSON; default if standard output is not a terminal
  -- ARGUMENTS          arguments for the runtime, as in "-- --allow-net=example.org"`

const TEXTS: Readonly<Record<CommandName, string>> = {
  dev: `kubeloop dev FILE [options]

Runs an operator against a Kubernetes API in this process, and restarts it when the file or one that it
imports is saved. kubectl works with .kubeloop/kubeconfig.

${RUN_HELP}

Ctrl-C stops everything; the API's state is kept for the next run.`,
  demo: `kubeloop demo [options]

Runs "kubeloop dev" with a sample operator and an object for it, in .kubeloop/demo/.

${RUN_HELP}`,
  new: `kubeloop new FILE

Writes a sample operator with its tests, and the configuration of the runtime that this command was
called with, if it is missing: package.json and tsconfig.json, or deno.json. Overwrites no file.`,
  crd: `kubeloop crd FILE [options]

Prints the CustomResourceDefinitions of the kinds that FILE exports or has an operator for, and the
configurations of its webhooks, as YAML: "kubeloop crd operator.ts | kubectl apply -f -". Loads the file,
but does not start its operator. Fails if an API server would refuse a definition, as for a rule that costs
too much.

  --check PATH          compare with the definitions in a file or folder instead: exit code 1 and a line for
                        each difference, with those that break, or may break, stored objects
  --against live        check the objects in a cluster instead: exit code 1 and a line for each problem of
                        one that does not fit
  --kubeconfig FILE     the cluster of --against; default: KUBECONFIG, ~/.kube/config
  --context NAME        the context of --against; default: the current one
  --namespace NAME      where the operator runs, for the Service of its webhooks; default: the
                        operator's name and "-system", as for manifests
  --runtime NAME        node, bun or deno; default: the one that this command was called with
  -- ARGUMENTS          arguments for the runtime, as in "-- --allow-net=example.org"`,
  manifests: `kubeloop manifests FILE [options]

Prints the objects that run the operator of FILE in a cluster, as YAML: "kubeloop manifests operator.ts
--image registry.example.com/operator:1.0.0 | kubectl apply -f -". Or writes them to a folder: all files
or none, and never over a file of yours. Loads the file, but does not start its operator. The rights are those of the kinds that it watches, owns and finalizes: add what its own code
requests of others.

  --image IMAGE         the container's image, with a tag or digest; default: the operator's name
  --namespace NAME      where the operator runs; default: the operator's name and "-system"
  --create-namespace    print the namespace too
  --replicas N          1 to 999; more than 1 need leader election; default: 2 with webhooks and leader
                        election, otherwise 1
  --service-monitor     print a ServiceMonitor of the Prometheus Operator
  --webhooks-from CIDR  addresses of the API server, for the NetworkPolicy; repeatable; default: all
  --cert-manager        print a CA and a certificate of the webhooks for cert-manager
  --record FOLDER       print the least rights, by a record; see kubeloop rights --help
  --out DIR             write a kustomize base: "kubectl apply -k DIR"
  --helm DIR            write a Helm chart: "helm install NAME DIR"; the options above are its defaults,
                        and helm sets the namespace
  --runtime NAME        node, bun or deno; default: the one that this command was called with
  -- ARGUMENTS          arguments for the runtime, as in "-- --allow-net=example.org"`,
  rights: `kubeloop rights FILE [options]

Prints the ClusterRole and the Roles of the operator of FILE, as YAML. Without --record they follow from
its description: the kinds that it watches, owns and finalizes. With it they are the least that suffice for
what the operator asked for while its tests ran with KUBELOOP_RIGHTS=FOLDER, or under kubeloop dev
(.kubeloop/rights). What no test exercised is not known.

  --record FOLDER       the folder of the record
  --check FILE          compare with the roles in FILE (YAML or JSON, "-" for standard input) instead: one
                        line for each right that they lack or exceed, and then exit code 1
  --namespace NAME      where the operator runs; default: the operator's name and "-system"
  --cluster NAME        the rights in the cluster of app.cluster(NAME, …); default: the operator's own
  --runtime NAME        node, bun or deno; default: the one that this command was called with
  -- ARGUMENTS          arguments for the runtime, as in "-- --allow-net=example.org"`,
  build: `kubeloop build FILE [options]

Bundles the operator of FILE and all that it imports into one minified module with a source map, for Node,
Bun and Deno, with nothing to install. Needs esbuild: "npm install --save-dev esbuild". Loads the file and
the bundle, but does not start the operator. Does not check types: run tsc before.

  --out DIR             the folder of the bundle; default: dist
  --runtime NAME        node, bun or deno; default: the one that this command was called with
  -- ARGUMENTS          arguments for the runtime, as in "-- --allow-net=example.org"`,
  types: `kubeloop types FILE

Prints TypeScript for the kinds of the CustomResourceDefinitions in FILE (YAML or JSON, "-" for standard
input): a type to read, a type to write, and the Resource, as in "kubeloop types crd.yaml > widget.ts".`,
  apiserver: `kubeloop apiserver [options]

Serves a Kubernetes API in memory, alone: no operator, no nodes, no controllers. For development and tests,
never for production. kubectl works with .kubeloop/kubeconfig, which is removed at the end.

  --port N              the port; default: a free one
  --host ADDRESS        the address of this machine to listen on; default: 127.0.0.1. All other addresses
                        give every client that has the token all rights
  --state FILE          keep the objects in FILE over restarts; default: they are gone at the end
  --apply FILE          apply a manifest (JSON or YAML, "-" for standard input); may be repeated
  --kubeconfig FILE     write the kubeconfig to FILE instead
  --garbage-collector   delete objects whose owners are gone, as a cluster does; default: off
  --json                print lines of JSON; default if standard output is not a terminal

Ctrl-C stops it.`,
}

export function helpText(of: CommandName | undefined, version: string): string {
  if (of) return TEXTS[of]
  return `kubeloop ${version}: Kubernetes operators in TypeScript

  kubeloop dev FILE     run an operator against a Kubernetes API in memory; restart it when it is saved
  kubeloop demo         do the same with a sample operator; needs no file
  kubeloop new FILE     write a sample operator and its tests
  kubeloop crd FILE     print the CustomResourceDefinitions of an operator's kinds
  kubeloop manifests FILE
                        print the objects that run an operator in a cluster, as YAML, for kustomize or Helm
  kubeloop rights FILE  print the least rights of an operator, or check a Role
  kubeloop build FILE   bundle an operator into one file
  kubeloop types FILE   print the types of the kinds in a file of CustomResourceDefinitions
  kubeloop apiserver    serve a Kubernetes API in memory, without an operator
  kubeloop help NAME    print the options of a command
  kubeloop --version    print the version

Exit codes: 0 done or stopped, 1 failed, 2 invalid command line.`
}
