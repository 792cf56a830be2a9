/** What a test makes of simulated pods: failures, holds and log lines, by patterns of names. */
import type { KubeObject } from 'kubeloop'
import type { LogLine } from 'kubeloop/apiserver'
import { refuseUnknown, type ShapeOf } from '../../core/option_names.ts'

/** How pods fail; see {@link Pods.fail}. */
export interface PodFailure {
  /**
   * `ErrImagePull`, `ImagePullBackOff`, `InvalidImageName`, `CreateContainerConfigError` and `CreateContainerError`:
   * the containers do not start. `Evicted`, `NodeLost`, `NodeShutdown` and `DeadlineExceeded`: the pod fails as a
   * whole. Others: the containers end. Default: `Error`.
   */
  reason?: string
  /** The exit code of the containers that end. Default: 1, and 137 for `OOMKilled`. */
  exitCode?: number
  /** Default: none. */
  message?: string
}

/**
 * Simulated pods of a world. A pattern is a name, or `NAMESPACE/NAME`, in which `*` stands for any text. It is for pods
 * that exist and for later ones, in all clusters of the world; the last call that names a pod decides.
 *
 * @example
 * ```ts
 * import { world } from 'kubeloop/testing'
 * import app from './operator.ts'
 * const w = await world(app, { workloads: true })
 * const mend = w.pods.fail('web-*', { reason: 'OOMKilled' })
 * await w.advance('1m') // the containers of these pods end, and start again after a back-off
 * mend()
 * await w.stop()
 * ```
 */
export interface Pods {
  /**
   * Makes pods fail whenever they run, by default with exit code 1. What follows is as in a cluster: by its
   * `restartPolicy` a pod fails, or its containers start again after a back-off of 10 s, doubled up to 5 minutes.
   * Returns a function that ends it.
   *
   * @throws TypeError for an unknown option.
   */
  fail(pattern: string, how?: PodFailure): () => void
  /**
   * Keeps pods as they are: those that are not running yet stay `ContainerCreating`, those that run do not complete,
   * and those that are deleted end with their grace period. Returns a function that ends it.
   */
  hold(pattern: string): () => void
  /** Adds lines to the log of the containers of pods, for `kubectl logs` and the subresource `log`. */
  log(pattern: string, text: string): void
}

const SHAPE: ShapeOf<PodFailure> = { reason: 0, exitCode: 0, message: 0 }

export type PodRule = ({ readonly does: 'fail' } & PodFailure) | { readonly does: 'hold' }

interface Entry<T> {
  readonly matches: (pod: KubeObject) => boolean
  readonly value: T
}

/** Implements {@link Pods}. `onChange` is called after each change of a rule. */
export class PodScript implements Pods {
  readonly #now: () => number
  readonly #onChange = new Set<() => void>()
  readonly #onLine = new Set<() => void>()
  #rules: Entry<PodRule>[] = []
  readonly #lines: Entry<LogLine>[] = []

  constructor(now: () => number) {
    this.#now = now
  }

  onChange(listener: () => void): void {
    this.#onChange.add(listener)
  }

  /** Calls `listener` after new lines until the signal is aborted. */
  onLine(listener: () => void, signal: AbortSignal): void {
    this.#onLine.add(listener)
    signal.addEventListener('abort', () => this.#onLine.delete(listener), { once: true })
  }

  fail(pattern: string, how: PodFailure = {}): () => void {
    refuseUnknown('Cannot let pods fail: ', how, SHAPE)
    return this.#add(pattern, { does: 'fail', ...how })
  }

  hold(pattern: string): () => void {
    return this.#add(pattern, { does: 'hold' })
  }

  log(pattern: string, text: string): void {
    const matches = matcher(pattern)
    const lines = text.replace(/\n$/, '').split('\n')
    this.#lines.push(...lines.map((each) => ({ matches, value: { atMs: this.#now(), text: each } })))
    for (const listener of this.#onLine) listener()
  }

  ruleOf(pod: KubeObject): PodRule | undefined {
    return this.#rules.findLast(({ matches }) => matches(pod))?.value
  }

  linesOf(pod: KubeObject): LogLine[] {
    return this.#lines.filter(({ matches }) => matches(pod)).map(({ value }) => value)
  }

  #add(pattern: string, value: PodRule): () => void {
    const entry = { matches: matcher(pattern), value }
    this.#rules.push(entry)
    this.#notify()
    return () => {
      this.#rules = this.#rules.filter((each) => each !== entry)
      this.#notify()
    }
  }

  #notify(): void {
    for (const listener of this.#onChange) listener()
  }
}

/** @throws TypeError if the pattern is empty, or has more than a namespace and a name. */
function matcher(pattern: string): (pod: KubeObject) => boolean {
  const parts = pattern.split('/')
  if (parts.length > 2 || parts.includes('')) {
    throw new TypeError(
      `Cannot name pods by ${JSON.stringify(pattern)}: write a name or NAMESPACE/NAME, where * is any text`,
    )
  }
  const [name = '', namespace = '*'] = parts.toReversed()
  const [isName, isNamespace] = [name, namespace].map((text) => {
    const source = text.split('*').map((each) => each.replaceAll(/[^\w-]/g, '\\$&')).join('.*')
    return new RegExp(`^${source}$`)
  })
  return ({ metadata }) => isName!.test(metadata.name) && isNamespace!.test(metadata.namespace ?? '')
}
