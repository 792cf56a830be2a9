/** Scripts of watches. The answers are recorded. */
import { type Script, script } from './transcript.ts'

export const WATCH_SCRIPTS: readonly Script[] = [
  script('verbs: options that a watch refuses', [
    'GET cm?watch=true&sendInitialEvents=true',
    'GET cm?watch=true&sendInitialEvents=false',
    'GET cm?watch=true&sendInitialEvents=true&resourceVersionMatch=Exact',
    'GET cm?watch=true&resourceVersionMatch=NotOlderThan',
    'GET cm?watch=true&resourceVersionMatch=Exact',
    'GET cm?watch=true&resourceVersionMatch=Nearly&sendInitialEvents=true',
    'GET cm?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=abc',
    'GET cm?watch=true&resourceVersion=abc',
    'GET foos?watch=true&resourceVersion=abc',
    'GET cm?watch=true&resourceVersion=-1',
    'GET cm?watch=true&timeoutSeconds=x',
    'GET cm?watch=true&limit=x',
    'GET cm?watch=true&fieldSelector=data.k%3Dv',
    'GET cm/a?watch=true&fieldSelector=metadata.name%3Db',
  ]),
]
