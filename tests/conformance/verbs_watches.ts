/** Scripts of watches. The answers are recorded. */
import { cm, foo, type Script, script } from './transcript.ts'

const INITIAL = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'

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
  script('verbs: initial events with and without bookmarks', [
    ['POST cm', cm('a')],
    ['POST cm', cm('b', {}, { labels: { x: 'y' } })],
    `WATCH 3 cm?${INITIAL} ? metadata.name metadata.annotations kind apiVersion`,
    `WATCH 2 cm?${INITIAL}&labelSelector=x%3Dy ? metadata.name metadata.annotations`,
    `WATCH 1 cm?${INITIAL}&labelSelector=x%3Dnone ? metadata.name metadata.annotations`,
    `WATCH 3 cm?${INITIAL}&resourceVersion=0 ? metadata.name metadata.annotations`,
    `WATCH 3 cm?${INITIAL}&resourceVersion={0.metadata.resourceVersion} ? metadata.name metadata.annotations`,
    'WATCH 2 cm?sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
    ['POST foos', foo('a')],
    `WATCH 2 foos?${INITIAL} ? metadata.name metadata.annotations kind apiVersion spec`,
    `GET foos/a?watch=true&${INITIAL}`,
  ]),
  script('verbs: bookmarks after the first events of a watch without a version', [
    ['POST cm', cm('a')],
    'WATCH 2 cm?allowWatchBookmarks=true ? metadata.name metadata.annotations',
    'WATCH 2 cm?allowWatchBookmarks=true&resourceVersion=0 ? metadata.name metadata.annotations',
    `WATCH 1 cm?${INITIAL}&resourceVersion=99999999`,
  ]),
]
