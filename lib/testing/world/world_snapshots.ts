/** What the storage of a world's clusters forgets, and to what it is set back. */
import type { OtherCluster } from 'kubeloop'
import type { FakeClock } from '../../async/fake_clock.ts'
import type { WorldClusters } from './world_clusters.ts'

/** The state of a world's clusters at a time. */
export interface WorldSnapshot {
  /** The world's time when it was made. */
  readonly time: Date
}

interface History {
  compact(cluster?: OtherCluster): void
  closeWatches(cluster?: OtherCluster): void
  snapshot(): WorldSnapshot
  restore(snapshot: WorldSnapshot): void
}

export function historyOf(clusters: WorldClusters, clock: FakeClock): History {
  const backups = new WeakMap<WorldSnapshot, () => void>()
  return {
    compact: (cluster) => clusters.of(cluster).server.compact(),
    closeWatches: (cluster) => clusters.of(cluster).server.closeWatches(),
    snapshot() {
      const snapshot: WorldSnapshot = { time: new Date(clock.now()) }
      backups.set(snapshot, clusters.backup())
      return snapshot
    },
    restore(snapshot) {
      const back = backups.get(snapshot)
      if (!back) throw new TypeError('Cannot restore the world: give what the snapshot() of this world returned')
      back()
    },
  }
}
