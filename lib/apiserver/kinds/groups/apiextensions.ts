/** The kinds of apiextensions.k8s.io/v1. */
import { CRD_RULES } from '../../crd/rules.ts'
import { CREATED_AT, NAME } from '../common/columns.ts'
import type { GroupTable } from '../../model/kind_table.ts'

export const APIEXTENSIONS: GroupTable = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  definitions: 'apiextensions.v1',
  kinds: [
    {
      kind: 'CustomResourceDefinition',
      plural: 'customresourcedefinitions',
      scope: 'Cluster',
      shortNames: ['crd', 'crds'],
      categories: ['api-extensions'],
      subresources: ['status'],
      columns: [NAME, CREATED_AT],
      rules: CRD_RULES['customresourcedefinitions.apiextensions.k8s.io']!,
    },
  ],
}
