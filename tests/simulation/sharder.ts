/**
 * The sharder of a ring, as kubernetes-controller-sharding has it: its webhook assigns objects without a shard, and its
 * control loop drains and moves those of another one. It may be down for a time.
 */
import { type AnyResource, type Client, isReason, type KubeObject } from 'kubeloop'
import { Lease } from 'kubeloop/kinds'
import type { Clock } from '../../lib/async/clock.ts'
import { fnv1a } from '../../lib/core/fnv.ts'
import { labelsOf, RING_LABEL } from '../../lib/operator/sharding/ring.ts'

export const RING = 'drawn'
export const { shard: SHARD, drain: DRAIN } = labelsOf(RING)
/** The holder of a Lease whose shard is dead. */
const SHARDER = 'shardlease-controller'
/** How often the Leases are read, and all objects. */
const [TICK_MS, SYNC_MS] = [2000, 30_000]

/** A kind of the ring. `isOwned`: its objects go with those that control them, without a drain. */
export interface Sharded {
  readonly resource: AnyResource
  readonly isOwned: boolean
}

/** Returns what decides the shard of an object; undefined for an owned one without a controller. */
function hashed({ resource, isOwned }: Sharded, { metadata }: KubeObject): string | undefined {
  const { namespace, name } = metadata
  if (!isOwned) return `${resource.kind} ${namespace}/${name}`
  const owner = metadata.ownerReferences?.find(({ controller }) => controller)
  return owner && `${owner.kind} ${namespace}/${owner.name}`
}

export class Sharder {
  readonly #options: ConstructorParameters<typeof Sharder>[0]
  /** When each state of a Lease was seen first. */
  readonly #seen = new Map<string, { readonly resourceVersion: string | undefined; readonly sinceMs: number }>()
  #shards: readonly string[] = []
  #syncedMs = -Infinity
  #salt = 0
  /** Until when it is down. */
  #downMs = -Infinity
  isBusy = false

  /** `onReleased`: called in the write by which a live shard gives an object up. */
  constructor(options: {
    readonly client: Client
    readonly clock: Clock
    readonly kinds: readonly Sharded[]
    readonly onReleased: (shard: string, object: KubeObject) => void
  }) {
    this.#options = options
  }

  stop(ms: number): void {
    this.#downMs = this.#options.clock.monotonic() + ms
  }

  /** Distributes all objects in another way. */
  async shuffle(): Promise<void> {
    this.#salt++
    this.#syncedMs = -Infinity
    await this.#tick().catch(() => {})
  }

  /** Returns the shard that an object should have. */
  #ownerOf(key: string | undefined): string | undefined {
    if (!key) return undefined
    const weight = (shard: string): number => fnv1a(`${shard} ${this.#salt} ${key}`)
    return this.#shards.toSorted((a, b) => weight(b) - weight(a))[0]
  }

  /** Whether an object of the first kind is where it should be. */
  isPlaced(object: KubeObject): boolean {
    const { [SHARD]: shard, [DRAIN]: drain } = object.metadata.labels ?? {}
    return drain === undefined && shard === this.#ownerOf(hashed(this.#options.kinds[0]!, object))
  }

  /** Answers the webhook. */
  review(body: string): { readonly status: number; readonly body: string } {
    const { clock, kinds, onReleased } = this.#options
    if (clock.monotonic() < this.#downMs) return { status: 503, body: 'The sharder is down' }
    const review = JSON.parse(body)
    const [object, before] = [review.request.object as KubeObject, review.request.oldObject as KubeObject | null]
    const { labels } = object.metadata
    const last = before?.metadata.labels?.[SHARD]
    if (labels?.[SHARD] === undefined && last !== undefined && this.#shards.includes(last)) onReleased(last, object)
    const shard = labels?.[SHARD] ??
      this.#ownerOf(hashed(kinds.find(({ resource }) => resource.kind === object.kind)!, object))
    const patch = btoa(JSON.stringify([{ op: 'add', path: '/metadata/labels', value: { ...labels, [SHARD]: shard } }]))
    const response = { uid: review.request.uid, allowed: true, ...(shard && { patchType: 'JSONPatch', patch }) }
    return { status: 200, body: JSON.stringify({ ...review, request: undefined, response }) }
  }

  /** Follows the Leases until the signal is aborted. */
  start(signal: AbortSignal): void {
    this.#options.clock.after(TICK_MS, async () => {
      if (signal.aborted) return
      this.isBusy = true
      // What fails is done by the next one.
      await this.#tick().catch(() => (this.#syncedMs = -Infinity))
      this.isBusy = false
      this.start(signal)
    })
  }

  async #tick(): Promise<void> {
    const { client, clock } = this.#options
    const nowMs = clock.monotonic()
    if (nowMs < this.#downMs) return
    const live: string[] = []
    for (const lease of await client.list(Lease, { labels: `${RING_LABEL}=${RING}` })) {
      const { metadata: { name, namespace, resourceVersion }, spec } = lease
      const seen = this.#seen.get(name)
      const sinceMs = seen?.resourceVersion === resourceVersion ? seen!.sinceMs : nowMs
      this.#seen.set(name, { resourceVersion, sinceMs })
      if (spec?.holderIdentity !== name) continue
      // Expired once it is still a shard; expired twice, its Lease is taken, so that it cannot come back.
      if (nowMs - sinceMs < 2000 * spec.leaseDurationSeconds!) live.push(name)
      else {
        const merge = { metadata: { resourceVersion }, spec: { holderIdentity: SHARDER } }
        await client.patch(Lease, { namespace: namespace!, name }, { merge })
      }
    }
    if (live.join() === this.#shards.join() && nowMs < this.#syncedMs + SYNC_MS) return
    this.#shards = live
    this.#syncedMs = nowMs
    for (const kind of live.length > 0 ? this.#options.kinds : []) await this.#sync(kind)
  }

  async #sync(kind: Sharded): Promise<void> {
    const { client } = this.#options
    const { resource, isOwned } = kind
    const objects = await client.list<KubeObject>(resource as never).catch((error: unknown) => {
      if (isReason(error, 'NotFound')) return []
      throw error
    })
    for (const object of objects) {
      const { labels, resourceVersion } = object.metadata
      const [key, current] = [hashed(kind, object), labels?.[SHARD]]
      if (key === undefined || current === this.#ownerOf(key)) continue
      // Without the label, the webhook assigns it.
      const isDrained = !isOwned && current !== undefined && this.#shards.includes(current)
      const change = isDrained ? { [DRAIN]: 'true' } : { [SHARD]: null, [DRAIN]: null }
      await client.patch(resource as never, object as never, {
        merge: { metadata: { resourceVersion, labels: change } },
      })
    }
  }
}
