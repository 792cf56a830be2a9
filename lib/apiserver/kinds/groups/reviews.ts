/** The kinds of authentication.k8s.io/v1 and authorization.k8s.io/v1: questions that the server answers. */
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'

const REVIEW = { verbs: ['create'], stored: false } as const

export const AUTHENTICATION: GroupTable = groupTable('authentication.k8s.io/v1', [
  kind('SelfSubjectReview selfsubjectreviews | Cluster', { ...REVIEW }),
  kind('TokenReview tokenreviews | Cluster', { ...REVIEW }),
])

export const AUTHORIZATION: GroupTable = groupTable('authorization.k8s.io/v1', [
  kind('LocalSubjectAccessReview localsubjectaccessreviews', { ...REVIEW }),
  kind('SelfSubjectAccessReview selfsubjectaccessreviews | Cluster', { ...REVIEW }),
  kind('SelfSubjectRulesReview selfsubjectrulesreviews | Cluster', { ...REVIEW }),
  kind('SubjectAccessReview subjectaccessreviews | Cluster', { ...REVIEW }),
])
