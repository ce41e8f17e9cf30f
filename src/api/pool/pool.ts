import type { Account, Address, Chain, Client, LocalAccount, Transport } from 'viem'
import type { Environment } from '../../chain/environment.js'
import { invalid } from '../../errors/invalid.js'
import { printedAs } from '../../lane/transaction/printedAs.js'
import type {
  HealthReason,
  Item,
  LaneOptions,
  Sender,
  SendManyOptions,
  SendOptions,
  Tx,
  TxRequest,
} from '../../types/index.js'
import { type ContractCall, contractCall, deployCall } from '../../validate/contracts.js'
import { unsupported } from '../../validate/validate.js'
import { healthOfAll } from '../sender/health.js'
import type { Member } from '../sender/member.js'
import { createMemberIn } from '../sender/sender.js'
import { sendMany } from '../sender/sendMany.js'
import { type AccountsOf, createAccounts, type MakeMember } from './accounts.js'
import { createMembers } from './members.js'
import { checkTreasury, createPayments, type TreasuryOptions, type TreasuryPolicy } from './payments.js'
import { poolRuntime } from './poolRuntime.js'
import { accountOf, createPoolSends, createRouting } from './poolSends.js'

/**
 * Several accounts behind one sender. Each transaction goes to the account with the fewest transactions in flight. The
 * field `from` of its record, and of the sealed receipt, names that account.
 */
export type SenderPool<chain extends Chain = Chain> = Sender<chain> & AccountsOf<chain>

/** The parameters of `createSenderPool`. */
export type SenderPoolParameters<chain extends Chain> = LaneOptions<chain> & {
  /** A viem client with a chain. Its transport is the first endpoint; its account, if any, is not used. */
  client: Client<Transport, chain, Account | undefined>
  /** The accounts that send: at least one, each once. */
  accounts: readonly LocalAccount[]
  /** Pays the accounts, so that their balances stay between two values. @default no treasury */
  treasury?: TreasuryOptions | undefined
}

/** `createSenderPool` in a given environment, for simulations. */
export function createSenderPoolIn(
  environment: Environment,
  parameters: SenderPoolParameters<Chain>,
): SenderPool {
  const { accounts, treasury, ...options } = parameters
  checkAccounts(accounts)
  checkTreasury(treasury, accounts)
  const make = (account: LocalAccount) => createMemberIn(environment, { ...options, account })
  return createPool(accounts.map(make), {
    starved: options.starved,
    make,
    treasury: treasury && { member: make(treasury.account), options: treasury },
  })
}

export function checkAccounts(accounts: readonly LocalAccount[]): void {
  if (!Array.isArray(accounts) || accounts.length === 0)
    throw invalid('accounts', accounts, 'at least one local account')
  const seen = new Set<string>()
  for (const [index, account] of accounts.entries()) {
    const address = String((account as { address?: unknown } | undefined)?.address).toLowerCase()
    if (seen.has(address)) throw invalid(`accounts[${index}]`, address, 'each account once')
    seen.add(address)
  }
}

/**
 * Creates the pool over existing senders. `starved`: the value for every transaction that has none. `make`: makes the
 * sender of a further account.
 */
export function createPool(
  given: readonly Member[],
  options: {
    readonly starved?: LaneOptions<Chain>['starved']
    readonly make: MakeMember
    readonly treasury?: { readonly member: Member; readonly options: TreasuryPolicy } | undefined
  },
): SenderPool {
  const { starved = 'fail', make } = options
  const members = createMembers(given, options.treasury?.options.upTo)
  const accounts = createAccounts(members, make)
  const payments =
    options.treasury &&
    createPayments({
      ...options.treasury,
      addresses: () => members.taking.map(({ sender }) => sender.address.toLowerCase() as Address),
    })
  if (payments) accounts.on('held', ({ reason }) => reason === 'starved' && payments.checkSoon())
  const routing = createRouting(members)
  const sends = createPoolSends({ members, routing, starved, begun: () => payments?.start() })
  let unready: readonly HealthReason[] = []

  /** Answers for all accounts if the answer is the same for each of them: they read the same store. */
  const first = (): Sender => accounts.senders[0] as Sender

  async function sendCall(call: ContractCall, options: SendOptions | undefined): Promise<Tx> {
    try {
      return await sends.send(call.request, options)
    } catch (error) {
      throw call.decode(error)
    }
  }

  async function all(work: (sender: Sender) => Promise<void>): Promise<void> {
    await Promise.all(members.all.map(({ sender }) => work(sender)))
  }

  const pool: SenderPool = {
    get senders() {
      return accounts.senders
    },
    treasury: options.treasury?.member.sender,
    get chain() {
      return first().chain
    },
    get address() {
      return first().address
    },
    add: accounts.add,
    retire: accounts.retire,
    pause: accounts.pause,
    resume: accounts.resume,
    setFees: accounts.setFees,
    async ready() {
      payments?.start()
      const lanes = await Promise.all(members.serving.map((member) => member.warm()))
      const { findUnready } = await poolRuntime(members.serving[0] as Member)
      unready = await findUnready(lanes)
    },
    send: sends.send,
    writeContract: async (call, options) => sendCall(encoded(call, contractCall), options),
    deployContract: async (call, options) => sendCall(encoded(call, deployCall), options),
    sendMany: (items: Iterable<Item> | AsyncIterable<Item>, options?: SendManyOptions) =>
      sendMany(sends.start, items, options),
    sendSequence: sends.sendSequence,
    get: routing.get,
    async list(options = {}) {
      // Any member can answer: its store has the transactions of all accounts of the chain.
      const [any] = members.all
      const addresses = members.all.map(({ sender }) => sender.address)
      return (members.serving[0] ?? (any as Member)).list(options, addresses)
    },
    inFlight: () => members.all.flatMap(({ sender }) => sender.inFlight()),
    health: () => healthOfAll(members.all.map(healthOf), members.taking.map(healthOf), unready),
    observe(seen) {
      for (const { sender } of members.all) sender.observe(seen)
    },
    on: accounts.on,
    async resolve(id, fate) {
      const member = await routing.memberThatKnows(id)
      await (member?.sender ?? first()).resolve(id, fate)
    },
    snapshot: () => Promise.reject(unsupported('snapshot() of a pool', 'ask each of its senders')),
    resync: () => all((sender) => sender.resync()),
    drain: (options) => all((sender) => sender.drain(options)),
    async close() {
      payments?.stop()
      await Promise.all([accounts.close(), options.treasury?.member.sender.close()])
    },
    [Symbol.asyncDispose]: () => pool.close(),
  }
  return printedAs(pool, () => ({
    chainId: pool.chain.id,
    addresses: accounts.senders.map(({ address }) => address),
  }))

  /**
   * Encodes the call, the same way for every account. An account that the call names stays in the request, for the
   * route.
   */
  function encoded(
    call: unknown,
    encode: (call: unknown, sender: Sender['address']) => ContractCall,
  ): ContractCall {
    const named = accountOf(call)
    const { request, decode } = encode(
      call,
      named === undefined ? pool.address : members.of(named, 'request.account').sender.address,
    )
    return {
      request: { ...request, ...(named === undefined ? {} : { account: named }) } as TxRequest,
      decode,
    }
  }
}

const healthOf = ({ sender }: Member) => sender.health()
