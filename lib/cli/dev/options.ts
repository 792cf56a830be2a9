/** The options of `kubeloop dev` and `kubeloop demo`. */
import type { RuntimeName } from '../../runtime/os/this_runtime.ts'
import { isAccount } from '../../rights/account.ts'
import { flag, list, numberFrom, type Option, optional, runtime, textLike, value, type Values } from '../options.ts'

type Declared = {
  /** Manifests, in the order given. */
  readonly apply: Option<readonly string[]>
  readonly runtime: Option<RuntimeName | undefined>
  /** Undefined: with all rights. Empty: the account of its manifests. */
  readonly asServiceAccount: Option<string | undefined>
  readonly elect: Option<boolean>
  readonly port: Option<number | undefined>
  readonly fresh: Option<boolean>
  readonly noWorkloads: Option<boolean>
  readonly ui: Option<boolean>
  readonly json: Option<boolean>
}

export const DEV_OPTIONS: Declared = {
  apply: list(
    'FILE',
    'apply a manifest (JSON or YAML, "-" for standard input), again when it is saved; may be repeated; --apply ' +
      'NAME=FILE applies it in the cluster of app.cluster(NAME, …)',
  ),
  runtime,
  asServiceAccount: optional(
    'ACCOUNT',
    'run the operator with the rights of a ServiceAccount; default: the account and the roles that kubeloop ' +
      'manifests prints; NAME or NAMESPACE/NAME: one whose roles you apply',
    textLike(isAccount, 'NAME or NAMESPACE/NAME'),
  ),
  elect: flag(
    "use the operator's leader election; default: off, because an operator that crashed leaves its Lease behind",
  ),
  port: value('N', 'the port of the API on 127.0.0.1; default: a free one', numberFrom(1, 65_535)),
  fresh: flag('start without the state and the record of the last runs (in .kubeloop)'),
  noWorkloads: flag('run no pods: no controllers of Deployments and other workloads, and no node'),
  ui: flag('serve a page that shows the loop on a free port of 127.0.0.1; a line at the start has its link'),
  json: flag('print lines of JSON; default if standard output is not a terminal'),
}

export type DevOptions = Values<typeof DEV_OPTIONS>
