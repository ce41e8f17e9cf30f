import type { OwnerReport } from './asks.js'

/** How an owner lost its lane. */
export type Loss = 'killed' | 'stopped' | 'closed'

export type Takeover = { readonly account: number; readonly how: Loss; readonly timeMs: number }

/**
 * The owner of each lane, as the processes report it, and how long no process sent from a lane after its
 * owner was lost.
 */
export type Lanes = {
  /** The process that owns the lane, if it is known. */
  holderOf(account: number): number | undefined
  hear(report: OwnerReport, process: number): void
  /** The process can do nothing from now on, or releases its lanes. */
  lost(process: number, how: Loss, atMs: number): void
  /** Resolves once other processes send from all lanes that were lost. */
  takenOver(): Promise<void>
  readonly takeovers: readonly Takeover[]
  /** The number of changes of lane owners, which the store counts as epochs. */
  readonly epochs: number
  readonly leasesLost: number
}

type Waiting = { readonly how: Loss; readonly sinceMs: number; readonly epoch: number }

export function createLanes(): Lanes {
  const holders = new Map<number, { readonly process: number; readonly epoch: number }>()
  const waiting = new Map<number, Waiting>()
  const takeovers: Takeover[] = []
  const none: (() => void)[] = []
  let epochs = 0
  let leasesLost = 0

  function check(): void {
    if (waiting.size === 0) for (const done of none.splice(0)) done()
  }

  return {
    takeovers,
    get epochs() {
      return epochs
    },
    get leasesLost() {
      return leasesLost
    },
    holderOf: (account) => holders.get(account)?.process,
    hear({ report, account, epoch, atMs }, process) {
      const holder = holders.get(account)
      switch (report) {
        case 'holds':
          epochs++
          if (holder === undefined || holder.epoch < epoch) holders.set(account, { process, epoch })
          break
        case 'sends': {
          const lost = waiting.get(account)
          if (lost === undefined || epoch <= lost.epoch) break
          takeovers.push({ account, how: lost.how, timeMs: atMs - lost.sinceMs })
          waiting.delete(account)
          check()
          break
        }
        case 'gives': {
          // A clean close takes until all reserved nonces are finished. No process waits for the lane before
          // it is released, so the time counts from here.
          const lost = waiting.get(account)
          if (lost?.how === 'closed' && lost.epoch === epoch) waiting.set(account, { ...lost, sinceMs: atMs })
          if (holder?.epoch === epoch) holders.delete(account)
          break
        }
        case 'loses':
          leasesLost++
          break
        default:
          report satisfies never
      }
    },
    lost(process, how, atMs) {
      for (const [account, holder] of holders) {
        if (holder.process !== process) continue
        waiting.set(account, { how, sinceMs: atMs, epoch: holder.epoch })
        holders.delete(account)
      }
    },
    takenOver() {
      const done = new Promise<void>((resolve) => none.push(resolve))
      check()
      return done
    },
  }
}
