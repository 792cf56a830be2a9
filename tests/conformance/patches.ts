/** Cases of patches other than apply, and of subresources. verbs_patches.ts has more. */
import type { Body, Case } from './api.ts'
import { casesOf, deploy, foo, script, type Step } from './transcript.ts'

export const PATCH_CASES: readonly Case[] = casesOf('patches', [
  script('/scale as a Table has columns of its own', [
    ['POST deploy', deploy('a', { replicas: 3 })],
    ['POST foos', foo('a', { size: 2 })],
    ...['deploy', 'foos'].map((path): Step => [
      `GET ${path}/a/scale ? kind rows.0.cells.0 rows.0.cells.1 rows.0.cells.2 rows.0.object.metadata.name ` +
      [0, 1, 2, 3].flatMap((at) => ['name', 'type', 'format'].map((key) => `columnDefinitions.${at}.${key}`)).join(
        ' ',
      ),
      undefined,
      { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    ]),
  ]),
  script('/scale of a custom kind uses the paths of its definition', [
    ['POST foos', foo('a', { size: 3 })],
    ['MERGE foos/a/status', { status: { ready: 2, selector: 'a=b' } }],
    'GET foos/a/scale ? spec.replicas status',
    ['PUT foos/a/scale', (answers: readonly Body[]) => ({ ...answers[2], spec: { replicas: 5 } })],
    'GET foos/a ? spec.size',
  ]),
])
