/** The finalizer with random writes of others, before and during runs, and with caches of any age. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap } from 'kubeloop/kinds'
import fc from 'fast-check'
import { Api } from '../../lib/client/api.ts'
import { KubeClient } from '../../lib/client/kube_client.ts'
import { Finalizer } from '../../lib/controller/finalizer.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { tries } from '../tools/fuzz.ts'

const OURS = 'example.dev/ours'
const REF = { namespace: 'default', name: 'a' }
const THEIRS = ['b/b', 'c/c', 'd/d'] as const

type Deed =
  | { readonly kind: 'create' | 'delete' | 'label' | 'force' }
  | { readonly kind: 'hold' | 'release'; readonly finalizer: (typeof THEIRS)[number] }
/** The action of another writer; `during`: while the previous run still sends requests. */
type Step =
  | { readonly deed: Deed; readonly during: boolean }
  | { readonly behind: number; readonly cleanup: 'ends' | 'not yet' | 'fails' }

const theirs = fc.constantFrom(...THEIRS)
const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: 'create' } as const) },
  { weight: 3, arbitrary: fc.constant({ kind: 'delete' } as const) },
  { weight: 1, arbitrary: fc.constantFrom({ kind: 'label' } as const, { kind: 'force' } as const) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constantFrom('hold' as const, 'release' as const), finalizer: theirs }),
  },
)
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ deed, during: fc.boolean() }) },
    {
      weight: 3,
      arbitrary: fc.record({
        behind: fc.nat(3),
        cleanup: fc.constantFrom('ends' as const, 'ends' as const, 'not yet' as const, 'fails' as const),
      }),
    },
  ),
  { minLength: 20, maxLength: 40, size: 'max' },
)

class Story {
  readonly #server = new ApiServer()
  readonly #admin = new KubeClient({ api: new Api({ transport: this.#server.handle }), fieldManager: 'admin' })
  readonly #finalizer = new Finalizer(ConfigMap, OURS)
  readonly #steps: Step[]
  /** The states of the object in watch order, and the cache's position among them. */
  readonly #states: (KubeObject | undefined)[] = [undefined]
  #seen = 0
  /** The finalizers of others, in their order. */
  #held: string[] = []
  readonly reconciled = new Set<string>()
  readonly ended = new Set<string>()
  readonly #begun = new Set<string>()
  readonly #forced = new Set<string>()

  constructor(steps: readonly Step[]) {
    this.#steps = [...steps]
  }

  async play(): Promise<void> {
    for (let step = this.#steps.shift(); step; step = this.#steps.shift()) {
      if ('deed' in step) await this.#do(step.deed)
      else await this.#run(step.behind, step.cleanup)
    }
    // When all other finalizers are removed, the object is deleted.
    for (const finalizer of THEIRS) await this.#do({ kind: 'release', finalizer })
    await this.#do({ kind: 'delete' })
    await this.#run(0, 'ends')
    assert.equal(this.#states.at(-1), undefined, 'nobody holds it')
  }

  async #run(behind: number, outcome: 'ends' | 'not yet' | 'fails'): Promise<void> {
    this.#seen = Math.max(this.#seen, this.#states.length - 1 - behind)
    const object = this.#states[this.#seen]
    if (!object) return
    const client = new KubeClient({
      fieldManager: 'test',
      api: new Api({
        transport: async (request) => {
          const [next] = this.#steps
          if (next && 'deed' in next && next.during) await this.#do((this.#steps.shift(), next.deed))
          const answer = await this.#server.handle(request)
          await this.#look()
          return answer
        },
      }),
    })
    let cleaned: string | undefined
    try {
      await this.#finalizer.run(object, {
        client,
        read: (found) => client.live.get(ConfigMap, found as never),
        reconcile: async ({ metadata }) => {
          assert.ok(metadata.finalizers?.includes(OURS) && !metadata.deletionTimestamp)
          assert.ok(!this.#begun.has(metadata.uid), 'what is being cleaned up is not reconciled any more')
          const now = this.#states.at(-1)
          if (now?.metadata.uid === metadata.uid && !this.#forced.has(metadata.uid)) {
            assert.ok(now.metadata.finalizers?.includes(OURS), 'it is held while it is reconciled')
          }
          this.reconciled.add(metadata.uid)
        },
        cleanup: async ({ metadata }) => {
          assert.ok(metadata.finalizers?.includes(OURS) && metadata.deletionTimestamp)
          assert.ok(!this.ended.has(metadata.uid), 'what has ended is not cleaned up again')
          this.#begun.add(metadata.uid)
          if (outcome === 'fails') throw new Error('mine')
          if (outcome === 'not yet') return { requeueAfter: '1s' }
          cleaned = metadata.uid
          this.ended.add(metadata.uid)
          return undefined
        },
      })
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error
      // Too many conflicts: the run would be retried, and clean up again.
      if (cleaned) this.ended.delete(cleaned)
      assert.match(String(error), /^Error: (mine|Cannot (add|remove) the finalizer)/)
    }
  }

  async #do(deed: Deed): Promise<void> {
    const now = this.#states.at(-1)
    const isGoing = now?.metadata.deletionTimestamp !== undefined
    if (deed.kind === 'create' && !now) {
      this.#held = []
      await this.#admin.create(ConfigMap, { metadata: REF })
    }
    if (deed.kind === 'delete') await this.#admin.delete(ConfigMap, REF)
    if (deed.kind === 'label' && now) {
      await this.#admin.edit(ConfigMap, REF, ({ metadata }) => void (metadata.labels = { n: `${this.#states.length}` }))
    }
    if (deed.kind === 'force' && now) {
      this.#forced.add(now.metadata.uid)
      await this.#change((finalizers) => finalizers.filter((each) => each !== OURS))
    }
    if (deed.kind === 'hold' && now && !isGoing && !this.#held.includes(deed.finalizer)) {
      this.#held = [deed.finalizer, ...this.#held]
      await this.#change((finalizers) => [deed.finalizer, ...finalizers])
    }
    if (deed.kind === 'release' && now) {
      this.#held = this.#held.filter((each) => each !== deed.finalizer)
      await this.#change((finalizers) => finalizers.filter((each) => each !== deed.finalizer))
    }
    await this.#look()
  }

  async #change(change: (finalizers: readonly string[]) => string[]): Promise<void> {
    await this.#admin.edit(
      ConfigMap,
      REF,
      ({ metadata }) => void (metadata.finalizers = change(metadata.finalizers ?? [])),
    )
  }

  /** Adds the states a watch would send, and checks the invariants. */
  async #look(): Promise<void> {
    const [before, now] = [this.#states.at(-1), await this.#admin.get(ConfigMap, REF)]
    if (before?.metadata.resourceVersion !== now?.metadata.resourceVersion) this.#states.push(now)
    const finalizers = now?.metadata.finalizers ?? []
    if (now) assert.deepEqual(finalizers.filter((each) => each !== OURS), this.#held, 'the others have what they had')
    assert.ok(finalizers.filter((each) => each === OURS).length <= 1, 'it is there once')
    const uid = before?.metadata.uid
    if (uid && uid !== now?.metadata.uid && this.reconciled.has(uid) && !this.#forced.has(uid)) {
      assert.ok(this.ended.has(uid), 'what was reconciled is cleaned up before it goes')
    }
  }
}

test('each reconciled object is cleaned up before it is deleted, and the finalizers of others are unchanged', async () => {
  let [reconciled, ended] = [0, 0]
  await fc.assert(
    fc.asyncProperty(steps, async (steps) => {
      const story = new Story(steps)
      await story.play()
      reconciled += story.reconciled.size
      ended += story.ended.size
    }),
    { numRuns: tries(120, 'everywhere') },
  )
  assert.ok(reconciled > 40 && ended > 40, `${reconciled} reconciled and ${ended} ended are too few to say anything`)
})
