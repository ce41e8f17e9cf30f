import type { Address, Hash } from 'viem'
import type { GroupCounts } from '../../lane/queue/groups.js'
import type { LaneSession } from '../../lane/session/laneSession.js'
import type { AdmissionTarget } from '../../lane/transaction/caller.js'
import type { LaneWorker } from '../../ownership/laneWorker.js'
import type { OpenLane } from '../../ownership/open.js'
import type { Reports } from '../../ownership/reports.js'
import type { Clock } from '../../platform/clock.js'
import type {
  HoldReason,
  ListOptions,
  RecordPage,
  Sender,
  SendOptions,
  Tx,
  TxRequest,
} from '../../types/index.js'
import type { LaneKey } from '../../types/store.js'
import type { Start } from './sendMany.js'

type MemberLane = {
  readonly key: LaneKey
  readonly worker: Pick<LaneWorker, 'unreservedBalanceWei' | 'requestBalance' | 'give'>
  readonly reports: Pick<Reports, 'fresh'>
}

/** A sender, with what a pool has to know of it. */
export type Member = {
  readonly sender: Sender
  readonly clock: Clock
  /** For what stands for no unfinished work. */
  readonly background: Clock
  start(request: TxRequest, options: SendOptions, to?: AdmissionTarget): ReturnType<Start>
  /** The code that lanes run on: see `Environment`. */
  runtime(): Promise<object>
  /** Opens its lane, and finds out what its first transaction would wait for. */
  warm(): Promise<OpenLane>
  /** A page of the transactions of these accounts, of its chain and store. */
  list(options: ListOptions, accounts: readonly Address[]): Promise<RecordPage>
  /** From now on what it does not send goes where this says. */
  rebalanceBy(relief: NonNullable<LaneSession['rebalancing']>): void
  /** Its lane, whoever holds it; undefined before it is open. */
  lane(): MemberLane | undefined
  /** How many more it could send now; below 0 by how many wait. */
  room(): number
  /** How many it has under way, or waiting. */
  load(): number
  /** What of its lane is in use; undefined before it is open. */
  counts(): GroupCounts | undefined
  /** Why its lane reserves nothing for now. */
  holds(): readonly HoldReason[]
  /** A transaction of its lane that has not ended, where this process knows it. */
  live(by: string | { hash: Hash }): Tx | undefined
  /** Its lane is known here, whoever holds it. */
  opened(): boolean
  closed(): boolean
}
