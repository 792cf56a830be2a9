/** Parses the flags that choose an operator's cluster, with controller-runtime's and kubectl's names. */
import { ConfigError } from '../../core/errors.ts'
import { nearestName } from '../../core/option_names.ts'

export interface ClusterFlags {
  /** The kubeconfig to read, instead of looking for one. */
  readonly kubeconfig?: string
  /** The context to use, instead of the current one. */
  readonly context?: string
}

/**
 * Finds `--kubeconfig FILE` and `--context NAME` (also `--kubeconfig=FILE`, and with one dash as in Go) in a program's
 * arguments, up to `--`. The last one wins. All other arguments belong to the operator.
 *
 * @throws ConfigError for a flag without its value, also for an empty one, as that of an unset variable of a shell,
 * which must not mean any other cluster; and for a misspelt flag with two dashes.
 */
export function clusterFlags(args: readonly string[]): ClusterFlags {
  const flags: { kubeconfig?: string; context?: string } = {}
  for (let at = 0; at < args.length && args[at] !== '--'; at++) {
    const [, name, stated] = /^--?(kubeconfig|context)(?:=([^]*))?$/.exec(args[at]!) ?? []
    if (name !== 'kubeconfig' && name !== 'context') {
      refuseMisspelt(args[at]!)
      continue
    }
    const value = stated ?? args[++at]
    if (!value || (stated === undefined && value.startsWith('-'))) {
      throw new ConfigError(
        `Cannot use --${name}: its value is missing; write --${name} ${name === 'context' ? 'NAME' : 'FILE'}`,
      )
    }
    flags[name] = value
  }
  return flags
}

/** Throws for a misspelt flag: ignored, it would leave the choice of the cluster to the environment. */
function refuseMisspelt(arg: string): void {
  const [flag, name] = /^--([^=]+)/.exec(arg) ?? []
  const meant = name && nearestName(name, ['kubeconfig', 'context'])
  if (!meant) return
  throw new ConfigError(
    `Cannot understand ${flag}: did you mean --${meant}? A flag of your own with such a name must follow a lone --`,
  )
}

/** Returns the names of the given flags for messages, such as `--kubeconfig and --context`; empty without flags. */
export function describeFlags(flags: ClusterFlags): string {
  return Object.keys(flags).map((name) => `--${name}`).join(' and ')
}
