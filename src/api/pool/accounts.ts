import type { Address, Chain, LocalAccount } from 'viem'
import { TxlaneError } from '../../errors/base.js'
import { checkNames, type Names } from '../../errors/checkNames.js'
import { invalid } from '../../errors/invalid.js'
import { withChange } from '../../lane/session/feeSettings.js'
import { raceStop, stopOfSignal } from '../../platform/stopSignal.js'
import type { FeeChange, Sender, SenderEvents } from '../../types/index.js'
import { ownFees } from '../../validate/own.js'
import { address as checkAddress, checkSignal, object } from '../../validate/validate.js'
import { checkAccount } from '../../validate/validateLane.js'
import type { Member } from '../sender/member.js'
import type { Members } from './members.js'
import { poolRuntime } from './poolRuntime.js'

/** The options of `retire`. */
export type RetireOptions = {
  /** Where the rest of the money goes: the treasury, say. */
  sweepTo?: Address | undefined
  /** Ends the wait with `ABORTED`. The account is still being retired. */
  signal?: AbortSignal | undefined
}

/** What a pool does with its accounts. */
export type AccountsOf<chain extends Chain> = {
  /** Pays the others, where one was named. */
  readonly treasury: Sender<chain> | undefined
  /** One for each account, in the order given; those that were added last. */
  readonly senders: readonly Sender<chain>[]
  /**
   * One more account, from now on. Its lane is opened with its first transaction, or by `ready()` of what it gives back.
   * Listeners of the pool hear of it too. Where all accounts are paused, this one is.
   *
   * @throws TxlaneError `INVALID` where it cannot sign here, or the pool has it; `CLOSED`
   */
  add(account: LocalAccount): Sender<chain>
  /**
   * Takes an account out of the pool. Nothing new goes to it. What waits there without a nonce goes to the other accounts,
   * unless it is bound to its own: by name, in a sequence, with `authorize`, `deploys` or `effect`. What is bound to it, or has
   * a nonce, is finished there. Resolves when all of it is sealed and no gap is left. Its lane stays open until the pool
   * closes, and repairs what a reorg undoes; `add` brings it back.
   *
   * With `sweepTo` the money that is left goes to that address then, but for three times of what the transfer may cost at
   * first, so that it can be bumped; it resolves when that is sealed as well. Without it the money stays where it is.
   *
   * It goes for this process: each that serves the account retires it. A paused account sends nothing, and so is finished
   * only after `resume`.
   *
   * @throws TxlaneError `INVALID` where the pool has no such account, or none beside it that is not being retired; `ABORTED`
   * by the signal, and `CLOSED`, fate `inFlight`, where the pool closes before that: the account is still being retired, and
   * another call waits on. `LEASE_LOST`, fate `notExecuted`, where another process holds the account when it is to be
   * swept
   */
  retire(address: Address, options?: RetireOptions): Promise<void>
  /**
   * As `pause` of a sender, for one account or for all. What waits at an account that is paused alone, and is not bound to
   * it, goes to the others.
   */
  pause(address?: Address): void
  /** As `resume` of a sender, for one account or for all. */
  resume(address?: Address): void
  /** As `setFees` of a sender, for all accounts, those that are added later as well. A budget is each account's own. */
  setFees(fees: FeeChange): void
}

/** The sender of one more account. */
export type MakeMember = (account: LocalAccount) => Member

/** The accounts of a pool come and go, and those who listen to the pool hear of all of them. */
export type Accounts = Omit<AccountsOf<Chain>, 'treasury'> & {
  on: Sender['on']
  close(): Promise<void>
}

type Listening = {
  readonly event: keyof SenderEvents
  readonly listener: (payload: unknown) => void
  readonly offs: (() => void)[]
}

export function createAccounts(members: Members, make: MakeMember): Accounts {
  const listening = new Set<Listening>()
  const retirements = new Map<Member, Promise<void>>()
  const sweeps = new WeakMap<Member, Promise<void>>()
  // Of one process: a member that comes later is paused as well.
  let allPaused = false
  let feeChange: FeeChange | undefined
  let closing: Promise<void> | undefined

  const sendersOf = (some: readonly Member[]): Sender[] => some.map(({ sender }) => sender)
  const listen = ({ event, listener, offs }: Listening, sender: Sender) =>
    void offs.push(sender.on(event, listener))

  function newMember(account: LocalAccount): Member {
    const member = make(account)
    for (const one of listening) listen(one, member.sender)
    if (allPaused) member.sender.pause()
    if (feeChange) member.sender.setFees(feeChange)
    return member
  }

  /** Where it fails it is tried again by the next who asks. */
  function retirementOf(member: Member): Promise<void> {
    const known = retirements.get(member)
    if (known) return known
    members.retire(member)
    const retirement = member.sender
      .drain()
      // It may have been added again meanwhile.
      .then(() => (members.taking.includes(member) ? undefined : members.retired(member)))
      .finally(() => retirements.delete(member))
    retirements.set(member, retirement)
    return retirement
  }

  /** One at a time: a second call waits for the transfer of the first. */
  function sweepOf(member: Member, to: Address): Promise<void> {
    const sweeping = (sweeps.get(member) ?? Promise.resolve())
      .catch(() => {})
      .then(async () => (await poolRuntime(member)).sweep(member, to))
    sweeps.set(member, sweeping)
    return sweeping
  }

  /** The senders of all, or of the one that is named. */
  function named(address: Address | undefined): readonly Sender[] {
    return sendersOf(address === undefined ? members.all : [members.of(address, 'address')])
  }

  return {
    get senders() {
      return sendersOf(members.serving)
    },
    add(account) {
      if (closing) throw new TxlaneError('The pool is closed.', { code: 'CLOSED', fate: 'notExecuted' })
      checkAccount(account)
      const known = members.find(account.address)
      if (known && members.taking.includes(known))
        throw invalid('account', account.address, 'each account once')
      const member = known ?? newMember(account)
      members.add(member)
      return member.sender
    },
    async retire(address, options = {}) {
      const { signal, sweepTo } = object('options', options) as typeof options
      checkNames('options', options, { signal: true, sweepTo: true } satisfies Names<RetireOptions>)
      checkSignal('signal', signal)
      if (sweepTo !== undefined) checkAddress('sweepTo', sweepTo)
      const member = members.of(address, 'address')
      if (members.taking.every((other) => other === member))
        throw invalid('address', address, 'an account beside which the pool has another')
      const retired = retirementOf(member).then(() => sweepTo && sweepOf(member, sweepTo))
      await raceStop(retired, [stopOfSignal(signal, () => aborted(address))])
    },
    pause(address) {
      allPaused ||= address === undefined
      for (const sender of named(address)) sender.pause()
    },
    resume(address) {
      if (address === undefined) allPaused = false
      for (const sender of named(address)) sender.resume()
    },
    setFees(change) {
      for (const { sender } of members.all) sender.setFees(change)
      feeChange = withChange(feeChange ?? {}, ownFees(change))
    },
    on(event, listener) {
      const one: Listening = { event, listener: listener as (payload: unknown) => void, offs: [] }
      for (const { sender } of members.all) listen(one, sender)
      listening.add(one)
      return () => {
        listening.delete(one)
        for (const off of one.offs) off()
      }
    },
    close() {
      closing ??= Promise.all(members.all.map(({ sender }) => sender.close())).then(() => {})
      return closing
    },
  }
}

function aborted(address: Address): TxlaneError {
  const message = `The wait was aborted. The account ${address} is still being retired.`
  return new TxlaneError(message, { code: 'ABORTED', fate: 'inFlight' })
}
