/** Manifests into the embedded API. Kinds of the operator's own are served when it has started: what needs them waits. */
import type { Api } from '../../client/api.ts'
import { isReason, messageOf } from '../../core/errors.ts'
import { formatKey } from '../../core/objects.ts'
import type { AnyResource } from '../../core/resource.ts'
import { type Clock, sleep } from '../../async/clock.ts'
import { inCluster } from '../../controller/change_summary.ts'
import type { DevEvent } from './events.ts'
import type { Manifest, ManifestObject } from '../manifests.ts'

export interface ApplyOptions {
  /** The API of a cluster that the operator names, or of its own. Undefined for one that it does not name. */
  readonly apiOf: (cluster: string | undefined) => Api | undefined
  readonly clock: Clock
  readonly say: (event: DevEvent) => void
}

interface Pending {
  readonly object: ManifestObject
  readonly manifest: string
  readonly cluster: string | undefined
}

interface ResourceList {
  readonly resources: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[]
}

/** An operator that has started installs its kinds at once; after this there is something to say. */
const PATIENCE_MS = 10_000

export class ManifestApplier {
  readonly #options: ApplyOptions
  #pending: readonly Pending[]
  #running: Promise<void> = Promise.resolve()

  constructor(manifests: readonly Manifest[], options: ApplyOptions) {
    this.#options = options
    this.#pending = pendingOf(manifests)
  }

  /** An operator has started: applies what is not applied yet, in order. What the API refuses is said, and tried at the next start. */
  apply(signal: AbortSignal): Promise<void> {
    this.#running = this.#running.then(() => this.#applyPending(signal))
    return this.#running
  }

  /**
   * Takes what manifests say now instead of what they said before, and applies it if an operator has started. Objects that they
   * no longer have stay. Objects that are unchanged are reported only if all of them are.
   */
  reapply(
    manifests: readonly Manifest[],
    { started }: { readonly started: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const isSaved = ({ manifest, cluster }: Pending): boolean =>
      manifests.some((each) => each.name === manifest && each.cluster === cluster)
    this.#running = this.#running.then(async () => {
      const saved = pendingOf(manifests)
      const others = this.#pending.filter((each) => !isSaved(each))
      this.#pending = started ? saved : [...others, ...saved]
      if (!started) return
      await this.#applyPending(signal, true)
      this.#pending = [...others, ...this.#pending]
    })
    return this.#running
  }

  async #applyPending(signal: AbortSignal, again = false): Promise<void> {
    const left: Pending[] = []
    const unchanged: DevEvent[] = []
    let said = 0
    const say = (event: DevEvent): void => {
      if (again && event.kind === 'applied' && event.result === 'unchanged') return void unchanged.push(event)
      said++
      this.#options.say(event)
    }
    for (const pending of this.#pending) {
      if (signal.aborted) return
      try {
        say(await this.#applyOne(pending, signal))
      } catch (error) {
        if (signal.aborted) return
        left.push(pending)
        say({
          kind: 'problem',
          message: `${messageOf(error)} (${pending.manifest}; tried again when it is saved or the operator restarts)`,
        })
      }
    }
    if (said === 0) unchanged.forEach(this.#options.say)
    this.#pending = left
  }

  async #applyOne({ object, manifest, cluster }: Pending, signal: AbortSignal): Promise<DevEvent> {
    const { apiOf } = this.#options
    const api = apiOf(cluster)
    const { name } = object.metadata
    if (!api) {
      throw new Error(
        `Cannot apply ${object.kind} "${name}" in ${cluster}: the operator has no cluster of that name; name one of app.cluster(…)`,
      )
    }
    const resource = await this.#served(object, api, cluster, signal)
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

  /** Waits until the kind is served. */
  async #served(
    { apiVersion, kind, metadata }: ManifestObject,
    api: Api,
    cluster: string | undefined,
    signal: AbortSignal,
  ): Promise<AnyResource> {
    const { clock } = this.#options
    const deadline = clock.monotonic() + PATIENCE_MS
    for (let waitMs = 10;; waitMs = Math.min(waitMs * 2, 250)) {
      const resource = await find(api, apiVersion, kind, signal)
      if (resource) return resource
      if (clock.monotonic() >= deadline) {
        throw new Error(
          `Cannot apply ${kind} "${metadata.name}"${
            inCluster(cluster)
          }: the API does not serve ${apiVersion} ${kind}; does the operator define it?`,
        )
      }
      await sleep(clock, waitMs, signal)
    }
  }
}

function pendingOf(manifests: readonly Manifest[]): Pending[] {
  return manifests.flatMap(({ name, cluster, objects }) =>
    objects.map((object) => ({ object, manifest: name, cluster }))
  )
}

async function find(api: Api, apiVersion: string, kind: string, signal: AbortSignal): Promise<AnyResource | undefined> {
  const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  let list: ResourceList
  try {
    const request = { method: 'GET', path, headers: { accept: 'application/json' } } as const
    list = (await api.raw(request, `list the kinds of ${apiVersion}`, signal)) as ResourceList
  } catch (error) {
    if (isReason(error, 'NotFound')) return undefined
    throw error
  }
  const found = list.resources.find((each) => each.kind === kind && !each.name.includes('/'))
  if (!found) return undefined
  const [version, group] = apiVersion.split('/').reverse() as [string, string | undefined]
  return { group: group ?? '', version, kind, plural: found.name, scope: found.namespaced ? 'Namespaced' : 'Cluster' }
}
