/** The kinds of apiextensions.k8s.io/v1. */
import { CRD_RULES } from '../../crd/rules.ts'
import { CREATED_AT, NAME } from '../common/columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'

export const APIEXTENSIONS: GroupTable = groupTable('apiextensions.k8s.io/v1', [
  kind('CustomResourceDefinition customresourcedefinitions crd crds | Cluster api-extensions', {
    subresources: ['status'],
    columns: [NAME, CREATED_AT],
    rules: CRD_RULES['customresourcedefinitions.apiextensions.k8s.io']!,
  }),
])
