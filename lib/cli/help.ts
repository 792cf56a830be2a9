/** The texts of `--help`. */
import type { CommandName } from './arguments.ts'

const RUN_HELP = `  --apply FILE          apply a manifest (JSON or YAML, "-" for standard input), again when it is
                        saved; may be repeated;
                        --apply NAME=FILE applies it in the cluster of app.cluster(NAME, …)
  --runtime NAME        node, bun or deno; default: the one that this command was called with
  --elect               use the operator's leader election; default: off, because an operator
                        that crashed leaves its Lease behind
  --port N              the port of the API on 127.0.0.1; default: a free one
  --fresh               start without the state of the last run (.kubeloop/state.json)
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

Prints the CustomResourceDefinitions of the kinds that FILE exports or has an operator for, as YAML:
"kubeloop crd operator.ts | kubectl apply -f -". Loads the file, but does not start its operator.

  --runtime NAME        node, bun or deno; default: the one that this command was called with
  -- ARGUMENTS          arguments for the runtime, as in "-- --allow-net=example.org"`,
  types: `kubeloop types FILE

Prints TypeScript for the kinds of the CustomResourceDefinitions in FILE (YAML or JSON, "-" for standard
input): a type to read, a type to write, and the Resource, as in "kubeloop types crd.yaml > widget.ts".`,
}

export function helpText(of: CommandName | undefined, version: string): string {
  if (of) return TEXTS[of]
  return `kubeloop ${version}: Kubernetes operators in TypeScript

  kubeloop dev FILE     run an operator against a Kubernetes API in memory; restart it when it is saved
  kubeloop demo         do the same with a sample operator; needs no file
  kubeloop new FILE     write a sample operator and its tests
  kubeloop crd FILE     print the CustomResourceDefinitions of an operator's kinds
  kubeloop types FILE   print the types of the kinds in a file of CustomResourceDefinitions
  kubeloop help NAME    print the options of a command
  kubeloop --version    print the version`
}
