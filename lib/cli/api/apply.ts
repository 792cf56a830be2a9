/** Applies manifests to the embedded API, and waits until their kinds are served. */
import type { Api } from '../../client/api.ts'
import { readKinds } from '../../client/rest_mapper.ts'
import { isReason, messageOf } from '../../core/errors.ts'
import { formatKey } from '../../core/objects.ts'
import type { AnyResource } from '../../core/resource.ts'
import { type Clock, sleep } from '../../async/clock.ts'
import { inCluster } from '../../controller/change_summary.ts'
import type { DevEvent } from './events.ts'
import type { Manifest, ManifestObject } from '../manifests.ts'

export interface ApplyOptions {
  /** Returns the API of a cluster; undefined if the operator has no cluster of that name. No name: its own cluster. */
  readonly apiOf: (cluster: string | undefined) => Api | undefined
  readonly clock: Clock
  readonly report: (event: DevEvent) => void
  /** When a refused object is tried again, for the report of it. Default: never. */
  readonly retried?: string
}

interface Pending {
  readonly object: ManifestObject
  readonly manifest: Manifest
}

/** How long all objects wait for their kinds. An operator installs its kinds as soon as it starts. */
const KINDS_TIMEOUT_MS = 10_000
/** How long each waits at least: its definition may be the object before it. */
const KIND_TIMEOUT_MS = 1000

export class ManifestApplier {
  readonly #options: ApplyOptions
  /** All manifests, as they were read last. */
  manifests: readonly Manifest[]
  #pending: readonly Pending[]
  #running: Promise<void> = Promise.resolve()

  constructor(manifests: readonly Manifest[], options: ApplyOptions) {
    this.#options = options
    this.manifests = manifests
    this.#pending = pendingOf(manifests)
  }

  /** Called when an operator starts: applies pending objects in order. Those that fail stay for the next start. */
  apply(signal: AbortSignal): Promise<void> {
    return this.#running = this.#running.then(() => this.#applyPending(signal))
  }

  /** Applies those of the pending objects first that pass a test, before an operator starts. */
  applyFirst(isFirst: (object: ManifestObject) => boolean, signal: AbortSignal): Promise<void> {
    return this.#running = this.#running.then(async () => {
      const later = this.#pending.filter(({ object }) => !isFirst(object))
      this.#pending = this.#pending.filter(({ object }) => isFirst(object))
      await this.#applyPending(signal)
      this.#pending = [...this.#pending, ...later]
    })
  }

  /**
   * Replaces the objects of saved manifests, and applies them if an operator has started. Objects that the manifests no
   * longer have are not deleted. Unchanged objects are reported only if all of them are unchanged.
   */
  reapply(
    manifests: readonly Manifest[],
    { started }: { readonly started: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const isSaved = (name: string, cluster: string | undefined): boolean =>
      manifests.some((each) => each.name === name && each.cluster === cluster)
    this.manifests = [...this.manifests.filter(({ name, cluster }) => !isSaved(name, cluster)), ...manifests]
    return this.#running = this.#running.then(async () => {
      const saved = pendingOf(manifests)
      const others = this.#pending.filter(({ manifest: { name, cluster } }) => !isSaved(name, cluster))
      this.#pending = started ? saved : [...others, ...saved]
      if (!started) return
      await this.#applyPending(signal, true)
      this.#pending = [...others, ...this.#pending]
    })
  }

  async #applyPending(signal: AbortSignal, again = false): Promise<void> {
    const { retried } = this.#options
    const failed: Pending[] = []
    const unchanged: DevEvent[] = []
    let reported = 0
    const deadline = this.#options.clock.monotonic() + KINDS_TIMEOUT_MS
    const report = (event: DevEvent): void => {
      if (again && event.kind === 'applied' && event.result === 'unchanged') return void unchanged.push(event)
      reported++
      this.#options.report(event)
    }
    for (const pending of this.#pending) {
      if (signal.aborted) return
      if (!this.#isLatest(pending)) continue
      try {
        report(await this.#applyOne(pending, deadline, signal))
      } catch (error) {
        if (signal.aborted) return
        if (!this.#isLatest(pending)) continue
        failed.push(pending)
        report({
          kind: 'problem',
          message: `${messageOf(error)} (${pending.manifest.name}${retried ? `; retried when ${retried}` : ''})`,
        })
      }
    }
    if (reported === 0) unchanged.forEach(this.#options.report)
    this.#pending = failed
  }

  /** Whether its file was not saved again meanwhile. */
  #isLatest({ manifest }: Pending): boolean {
    return this.manifests.includes(manifest)
  }

  async #applyOne(pending: Pending, deadline: number, signal: AbortSignal): Promise<DevEvent> {
    const { object, manifest: { name: manifest, cluster } } = pending
    const { apiOf } = this.#options
    const api = apiOf(cluster)
    const { name } = object.metadata
    if (!api) {
      throw new Error(
        `Cannot apply ${object.kind} "${name}" in ${cluster}: the operator has no cluster of that name; name one of app.cluster(…)`,
      )
    }
    const resource = await this.#served(pending, api, deadline, signal)
    const namespace = resource.scope === 'Namespaced' ? (object.metadata.namespace ?? 'default') : undefined
    const target = { resource, name, namespace }
    const wanted = { ...object, metadata: { ...object.metadata, ...(namespace ? { namespace } : {}) } }
    const before = await api.get(target, signal).catch((error: unknown) => {
      if (isReason(error, 'NotFound')) return undefined
      throw error
    })
    const query = { fieldManager: 'kubeloop-dev', fieldValidation: 'Strict', force: true } as const
    const { object: after, created } = await api.patch(target, 'apply', wanted, query, signal)
    const unchanged = before?.metadata.resourceVersion === after.metadata.resourceVersion
    const result = created ? 'created' : unchanged ? 'unchanged' : 'changed'
    return {
      kind: 'applied',
      object: `${resource.kind} ${formatKey({ namespace, name })}`,
      ...(cluster && { cluster }),
      result,
      manifest,
    }
  }

  /** Resolves with the kind when the API serves it. @throws Error if it does not in time, or before the next save. */
  async #served(pending: Pending, api: Api, deadline: number, signal: AbortSignal): Promise<AnyResource> {
    const { clock } = this.#options
    const { object: { apiVersion, kind, metadata }, manifest: { cluster } } = pending
    const untilMs = Math.max(deadline, clock.monotonic() + KIND_TIMEOUT_MS)
    for (let waitMs = 10;; waitMs = Math.min(waitMs * 2, 250)) {
      const resource = await find(api, apiVersion, kind, signal)
      if (resource) return resource
      if (clock.monotonic() >= untilMs || !this.#isLatest(pending)) {
        const what = `${kind} "${metadata.name}"${inCluster(cluster)}`
        const why = `the API does not serve ${apiVersion} ${kind}; does the operator define it?`
        throw new Error(`Cannot apply ${what}: ${why}`)
      }
      await sleep(clock, waitMs, signal)
    }
  }
}

function pendingOf(manifests: readonly Manifest[]): Pending[] {
  return manifests.flatMap((manifest) => manifest.objects.map((object) => ({ object, manifest })))
}

async function find(api: Api, apiVersion: string, kind: string, signal: AbortSignal): Promise<AnyResource | undefined> {
  const kinds = await readKinds(api, apiVersion, signal).catch((error: unknown) => {
    if (isReason(error, 'NotFound')) return []
    throw error
  })
  return kinds.map(({ resource }) => resource).find((each) => each.kind === kind)
}
