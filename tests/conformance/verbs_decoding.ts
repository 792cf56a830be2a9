/** Scripts of strict decoding: unknown and duplicate fields, wrong types. The answers are recorded. */
import { cm, type Script, script } from './transcript.ts'
const ODD = { ...cm('a', { k: 'v' }, { odd: 1, labels: { a: 'b' } }), Data: {}, extra: { x: 1 }, zeta: 1 }

export const DECODING_SCRIPTS: readonly Script[] = [
  script('verbs: unknown fields of a built-in kind', [
    ['POST cm?fieldValidation=Strict', ODD],
    ['POST cm?fieldValidation=Warn', ODD],
    ['PUT cm/a?fieldValidation=Strict', ODD],
    ['PUT cm/a', ODD],
    ['PUT cm/a?fieldValidation=Ignore', ODD],
    ['MERGE cm/a?fieldValidation=Strict', { odd: 1, metadata: { odd: 2 } }],
    ['MERGE cm/a', { odd: 1, metadata: { odd: 2 } }],
    ['STRATEGIC cm/a?fieldValidation=Strict', { odd: 1, metadata: { odd: 2 } }],
    ['STRATEGIC cm/a', { odd: 1, metadata: { odd: 2 } }],
    ['JSON cm/a?fieldValidation=Strict', [{ op: 'add', path: '/odd', value: 1 }]],
    ['JSON cm/a', [{ op: 'add', path: '/odd', value: 1 }]],
    ['JSON cm/a?fieldValidation=Strict', [{ op: 'add', path: '/data/x', value: '1', odd: 1 }]],
  ]),
]
