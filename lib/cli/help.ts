/** What `--help` says. */
import type { CommandName } from './arguments.ts'

const RUN_HELP = `  --apply FILE          apply a manifest (JSON or YAML, "-" for standard input), again when it is
                        saved; may be repeated;
                        --apply NAME=FILE goes to the cluster that app.cluster(NAME, …) is
  --runtime NAME        node, bun or deno; the one this command was called with by default
  --elect               leave leader election as the operator has it; it is off by default,
                        for an operator that crashed leaves its Lease behind
  --port N              the port of the API on 127.0.0.1; a free one by default
  --fresh               forget what the last run left in .kubeloop/state.json
  --json                lines of JSON, as when standard output is not a terminal
  -- ARGUMENTS          passed on to the runtime, as in "-- --allow-net=example.org"`

const TEXTS: Readonly<Record<CommandName, string>> = {
  dev: `kubeloop dev FILE [options]

Runs an operator against a Kubernetes API in this process, and again whenever the file or one that it
imports changes. kubectl works with it, through .kubeloop/kubeconfig.

${RUN_HELP}

Ctrl-C stops everything; the API's state is kept for the next time.`,
  demo: `kubeloop demo [options]

The same as "kubeloop dev" with a sample operator and an object for it, in .kubeloop/demo/. Needs no file.

${RUN_HELP}`,
  new: `kubeloop new FILE

Writes a sample operator, and a test of it beside it; and, for the runtime that this command was called with, what type checks need
where there is none: package.json and tsconfig.json, or deno.json. Overwrites nothing.`,
  crd: `kubeloop crd FILE [options]

Prints the CustomResourceDefinitions of the kinds that FILE exports or has an operator for, as YAML: "kubeloop crd operator.ts |
kubectl apply -f -". The file is loaded, its operator is not started.

  --runtime NAME        node, bun or deno; the one this command was called with by default
  -- ARGUMENTS          passed on to the runtime, as in "-- --allow-net=example.org"`,
  types: `kubeloop types FILE

Prints TypeScript for the kinds that the CustomResourceDefinitions in FILE define (YAML or JSON, "-" for standard
input): what is read, what is written, and the Resource, as in "kubeloop types crd.yaml > widget.ts".`,
}

export function helpText(of: CommandName | undefined, version: string): string {
  if (of) return TEXTS[of]
  return `kubeloop ${version}: Kubernetes operators in TypeScript

  kubeloop dev FILE     run an operator against a Kubernetes API in memory, and again when it changes
  kubeloop demo         the same with a sample operator; needs no file
  kubeloop new FILE     write a sample operator and its test
  kubeloop crd FILE     print the CustomResourceDefinitions of an operator's kinds
  kubeloop types FILE   print the types of the kinds in a file of CustomResourceDefinitions
  kubeloop help NAME    what a command takes
  kubeloop --version`
}
