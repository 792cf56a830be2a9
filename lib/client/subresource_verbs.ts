/** Implements `client.subresource`: the verbs of one subresource of one object. */
import type { KubeObject, ObjectKey, Ref } from '../core/objects.ts'
import { type ResourceOf, wholeOf } from '../core/resource.ts'
import { type Api, resultOf, type Written } from './api.ts'
import type { SendOptions, Subresource, WriteRecord } from './client.ts'
import { patchBody, type WriteQuery } from './requests.ts'
import { type SubresourceAnswer, type SubresourceBody, subresourceBody, type SubresourceName } from './subresources.ts'
import { targetOf } from './target.ts'

/** Called after each write. */
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

/** Returns the verbs of a subresource. */
export function subresourceOf<T extends KubeObject, N extends SubresourceName>(
  api: Api,
  resource: ResourceOf<T>,
  ref: Ref<NoInfer<T>>,
  name: N,
  { query, onWrite }: SubresourceWrites,
): Subresource<SubresourceBody<N, T>, SubresourceAnswer<N, T>> {
  // Never read as metadata only: the result may be written back.
  const target = { ...targetOf(wholeOf(resource), ref, `address the ${name} of`), subresource: name }
  const of = { group: resource.group, kind: `${resource.kind}/${name}` }
  const body = subresourceBody.bind(undefined, target)
  const report = (
    verb: WriteRecord['verb'],
    written: Written,
    options: SendOptions,
  ): SubresourceAnswer<N, T> => {
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
