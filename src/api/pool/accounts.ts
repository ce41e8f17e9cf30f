import type { Address, Chain, LocalAccount } from 'viem'
import { TxlaneError } from '../../errors/base.js'
import { checkNames, type Names } from '../../errors/checkNames.js'
import { invalid } from '../../errors/invalid.js'
import { withChange } from '../../lane/session/feeSettings.js'
import { raceAbort } from '../../platform/onAbort.js'
import type { FeeChange, Sender, SenderEvents } from '../../types/index.js'
import { ownFees } from '../../validate/own.js'
import { address as checkAddress, checkSignal, object } from '../../validate/validate.js'
import { checkAccount } from '../../validate/validateLane.js'
import type { Member } from '../sender/member.js'
import type { Members } from './members.js'
import { poolRuntime } from './poolRuntime.js'

/** The options of `retire`. */
export type RetireOptions = {
  /** The address that gets the remaining balance, such as the treasury. @default the balance stays in the account */
  sweepTo?: Address | undefined
  /** Aborting it ends the wait with `ABORTED`. The account is still being retired. */
  signal?: AbortSignal | undefined
}

/** The accounts of a pool, and the calls that change them. */
export type AccountsOf<chain extends Chain> = {
  /** The sender of the treasury; undefined if the pool has none. */
  readonly treasury: Sender<chain> | undefined
  /** One sender for each account that is not retired, in the order of `accounts`; accounts of `add` come last. */
  readonly senders: readonly Sender<chain>[]
  /**
   * Adds an account to the pool. Its first transaction opens its lane, or `ready()` of the returned sender.
   * Listeners of the pool also get its events. If `pause()` has paused all accounts, this account is paused too.
   *
   * @throws TxlaneError `INVALID` if the account cannot sign here or is in the pool already; `CLOSED`
   */
  add(account: LocalAccount): Sender<chain>
  /**
   * Takes an account out of the pool. It gets no new transactions. Transactions that wait for a nonce move to the other
   * accounts, unless they are bound to their account: by name, by a sequence, or by `authorize`, `deploys` or `effect`.
   * The account finishes transactions that are bound to it or have a nonce. Resolves when all of them are sealed and no
   * gap is left. The lane stays open until the pool closes, and repairs the effects of reorgs. `add` brings the account
   * back.
   *
   * With `sweepTo` the remaining balance then goes to that address, minus three times the initial maximum cost of the
   * transfer, so that the transfer can be bumped. The promise resolves when the transfer is sealed as well. Without
   * `sweepTo` the balance stays in the account.
   *
   * The call affects this process only: every process that serves the account has to retire it. A paused account sends
   * nothing, so it finishes only after `resume`.
   *
   * @throws TxlaneError `INVALID` if the pool has no such account, or if every other account is retired or being
   *   retired. `ABORTED` by the signal, and `CLOSED` (fate `inFlight`) if the pool closes before the end: the
   *   account is still being retired, and another call continues to wait. `LEASE_LOST` (fate `notExecuted`) if
   *   another process owns the lane of the account at the time of the sweep
   */
  retire(address: Address, options?: RetireOptions): Promise<void>
  /**
   * `pause` of a sender, for one account or for all. If one account is paused alone, its waiting transactions that are
   * not bound to it move to the other accounts.
   */
  pause(address?: Address): void
  /** `resume` of a sender, for one account or for all. */
  resume(address?: Address): void
  /** `setFees` of a sender for all accounts, including later ones. A budget applies to each account separately. */
  setFees(fees: FeeChange): void
}

/** Makes the sender of a further account. */
export type MakeMember = (account: LocalAccount) => Member

/** The accounts of a pool. Accounts may come and go; listeners of the pool get the events of all of them. */
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
  // In this process all accounts are paused, so a member that is added later starts paused.
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

  /** Drains the account once for all callers. After a failure the next call tries again. */
  function retirementOf(member: Member): Promise<void> {
    const known = retirements.get(member)
    if (known) return known
    members.retire(member)
    const retirement = member.sender
      .drain()
      // The account may have been added again meanwhile.
      .then(() => (members.taking.includes(member) ? undefined : members.retired(member)))
      .finally(() => retirements.delete(member))
    retirements.set(member, retirement)
    return retirement
  }

  /** Sweeps one transfer at a time: a second call waits for the transfer of the first. */
  function sweepOf(member: Member, to: Address): Promise<void> {
    const sweeping = (sweeps.get(member) ?? Promise.resolve())
      .catch(() => {})
      .then(async () => (await poolRuntime(member)).sweep(member, to))
    sweeps.set(member, sweeping)
    return sweeping
  }

  /** The senders of all accounts, or the sender of the given one. */
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
      await raceAbort(retired, [signal], () => aborted(address))
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
