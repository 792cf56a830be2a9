/** Implements `client.subresource`: the verbs of one subresource of one object. */
import type { KubeObject, ObjectKey, Ref } from '../core/objects.ts'
import { type Api, resultOf, type Written } from './api.ts'
import type { SendOptions, Subresource, WriteRecord } from './client.ts'
import { patchBody, type WriteQuery } from './requests.ts'
import {
  type SubresourceAnswer,
  type SubresourceBody,
  subresourceBody,
  type SubresourceName,
  type SubresourceTarget,
} from './subresources.ts'

export type OnWrite = (
  verb: WriteRecord['verb'],
  of: Pick<WriteRecord, 'group' | 'kind'>,
  key: ObjectKey,
  result: WriteRecord['result'],
  options: Pick<SendOptions, 'dryRun'>,
) => void

interface SubresourceWrites {
  readonly query: (options: SendOptions) => WriteQuery
  readonly onWrite: OnWrite
}

/** Returns the verbs of a subresource. `ref`: the object that the caller has. */
export function subresourceOf<T extends KubeObject, N extends SubresourceName>(
  api: Api,
  target: SubresourceTarget,
  ref: Ref<T>,
  { query, onWrite }: SubresourceWrites,
): Subresource<SubresourceBody<N, T>, SubresourceAnswer<N, T>> {
  const { resource: { group, kind }, subresource } = target
  const of = { group, kind: `${kind}/${subresource}` }
  const body = subresourceBody.bind(undefined, target)
  const report = (verb: WriteRecord['verb'], written: Written, options: SendOptions): SubresourceAnswer<N, T> => {
    onWrite(verb, of, target, resultOf(written, 'metadata' in ref ? ref : { metadata: ref }), options)
    return written.object as unknown as SubresourceAnswer<N, T>
  }
  return {
    get: async (options = {}) => (await api.get(target, options.signal)) as unknown as SubresourceAnswer<N, T>,
    create: async (part, options = {}) =>
      report('create', await api.create(target, body(part), query(options), options.signal), options),
    update: async (part, options = {}) =>
      report('update', await api.update(target, body(part), query(options), options.signal), options),
    patch: async (patch, options = {}) =>
      report('patch', await api.patch(target, ...patchBody(patch), query(options), options.signal), options),
    async apply(part, options = {}) {
      const force = { force: options.force ?? true }
      const written = await api.patch(target, 'apply', body(part), { ...query(options), ...force }, options.signal)
      return report('apply', written, options)
    },
  }
}
