/** The names in the documents that are the templates for custom kinds. */

/** The groups of the two templates. Each occurs in the documents in four forms, see custom.ts. */
export const NAMESPACED_TEMPLATE = 'qqnamed.qqgroup.example'
export const CLUSTER_TEMPLATE = 'qqwhole.qqgroup.example'

/** No other word in the documents contains one of these names. */
export const TEMPLATE_NAMES = { version: 'v7alpha7', kind: 'Qqkind', listKind: 'Qqlist', plural: 'qqplurals' } as const
