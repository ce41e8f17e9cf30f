import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { formatGwei, type Hash, isHash } from 'viem'
import { getTransactionReceipt } from 'viem/actions'
import { createSender, type Sender } from '../../../src/index.js'
import { sqliteStore } from '../../../src/store/sqlite/index.js'
import { poolOf, type Waiting, waitingByHash } from '../inspect/look.js'
import { filesOf } from '../send/pay/journal.js'
import { badOption, readCommandLine, whole } from '../shared/commandLine.js'
import { type Connection, connect, type RpcFlags, rpcFlag, rpcUrl } from '../shared/connect.js'
import { type KeyFlags, type KeySource, keyFlags, keySource, openAccount } from '../shared/keys.js'
import { json, wrapped } from '../shared/output.js'
import { answer, EXIT, type Parsed, Refusal, write } from '../shared/program.js'
import { confirm } from '../shared/terminal.js'
import { feesAbove, handOver, type Plain, usedBelow } from './replacement.js'

type Environment = Readonly<Record<string, string | undefined>>
type Kind = 'cancel' | 'speed-up'

type Options = {
  /** A hash or a nonce; with a journal also an id. */
  readonly which: string
  readonly kind: Kind
  readonly url: string
  readonly key: KeySource
  readonly journal: string | undefined
  readonly ceiling: bigint | undefined
  readonly yes: boolean
  readonly json: boolean
  readonly timeoutMs: number
}

type Flags = RpcFlags &
  KeyFlags & { journal?: string; maxFee?: number; yes: boolean; json: boolean; timeout: number }

export const cancel = (argv: readonly string[], environment: Environment): Promise<number> =>
  change('cancel', argv, environment)
export const speedUp = (argv: readonly string[], environment: Environment): Promise<number> =>
  change('speed-up', argv, environment)

const ABOUT: Record<Kind, string> = {
  cancel: 'Replaces a pending transaction with a transfer of 0. One of the two is executed, never both.',
  'speed-up': 'Sends a pending transaction again with the same nonce and higher fees.',
}

function change(kind: Kind, argv: readonly string[], environment: Environment): Promise<number> {
  return answer(parse(kind, argv, environment), `txlane ${kind}`, (options) =>
    options.journal === undefined ? onNode(options, environment) : inJournal(options, environment),
  )
}

function parse(kind: Kind, argv: readonly string[], environment: Environment): Parsed<Options> {
  const command = new Command(`txlane ${kind}`)
    .description(ABOUT[kind])
    .argument('<which>', 'its hash; its nonce, if the node shows its pool; with --journal, its id')
  keyFlags(rpcFlag(command))
    .option('--journal <file>', 'FILE of txlane send whose journal has the transaction')
    .option(
      '--max-fee <gwei>',
      'maximum fee per gas (default: 10 times the current fee)',
      whole(1, 1_000_000),
    )
    .option('--yes', 'skip the confirmation', false)
    .option('--timeout <seconds>', 'time to wait for the block', whole(1, 86_400), 120)
    .option('--json', 'one JSON object on standard output', false)
  return readCommandLine(command, argv, (flags: Flags, [which = '']) => {
    const { journal, maxFee, yes, json, timeout } = flags
    if (journal === undefined && !isHash(which) && !/^\d+$/.test(which)) {
      throw badOption('Expected a hash or a nonce; ids are for --journal.')
    }
    const ceiling = maxFee === undefined ? undefined : BigInt(maxFee) * 10n ** 9n
    const url = rpcUrl(flags, environment)
    return {
      which,
      kind,
      url,
      key: keySource(flags),
      journal,
      ceiling,
      yes,
      json,
      timeoutMs: timeout * 1_000,
    }
  })
}

// --- a transaction of any wallet ---

async function onNode(options: Options, environment: Environment): Promise<number> {
  const { kind, timeoutMs } = options
  const account = await openAccount(options.key, environment)
  const connection = await connect(options.url)
  const { client } = connection
  const old = await find(connection, options, account.address)
  const fees = await feesAbove(client, old, options.ceiling)
  const what = `nonce ${old.nonce}: from ${formatGwei(old.maxFeePerGas)} to ${formatGwei(fees.maxFeePerGas)} gwei per gas`
  if (!options.yes && !(await confirm(`${kind === 'cancel' ? 'Cancel' : 'Speed up'} ${what}?`, '--yes')))
    return EXIT.refused
  const { hash, taken } = await handOver(client, account, replacementOf(kind, old, account.address), fees)
  if (taken)
    throw new Refusal(
      `Nonce ${old.nonce} was taken by another transaction in the meantime: check with txlane inspect.`,
    )
  const done = await usedBelow(client, account.address, old.nonce + 1, timeoutMs)
  const ran = done ? await whichRan(connection, [hash, old.hash]) : undefined
  await write(
    options.json
      ? json({ nonce: old.nonce, hash, replaced: old.hash, ran })
      : `${wrapped(sentenceOf(kind, ran, hash, old))}\n`,
  )
  return ran === hash ? EXIT.held : EXIT.failed
}

function sentenceOf(kind: Kind, ran: Hash | undefined, hash: Hash, old: Waiting): string {
  if (ran === undefined)
    return `Sent as ${hash}, but neither transaction is in a block yet: check again with txlane inspect.`
  if (ran === old.hash) return `Too late: ${old.hash} was executed.`
  return kind === 'cancel' ? `Cancelled: replaced by ${hash}.` : `Executed as ${hash}.`
}

async function find({ client }: Connection, { which }: Options, address: `0x${string}`): Promise<Waiting> {
  if (isHash(which)) {
    const found = await waitingByHash(client, which)
    if (found === undefined)
      throw new Refusal('This transaction is not pending at the node: it is in a block, or unknown.')
    if (found.from.toLowerCase() !== address.toLowerCase()) {
      throw new Refusal(`This transaction is from ${found.from}, but the key belongs to ${address}.`)
    }
    return found
  }
  const pool = await poolOf(client, address)
  if (pool === undefined)
    throw new Refusal('The node does not show its pool: name the transaction by its hash.')
  const found = pool.get(Number(which))
  if (found === undefined) throw new Refusal(`${address} has no pending transaction at nonce ${which}.`)
  return found
}

// Gas of a transfer of 0 to an account without code (yellow paper, G_transaction), and to one with code.
const CANCEL_GAS = 21_000n
const CANCEL_GAS_CODE = 100_000n

function replacementOf(kind: Kind, old: Waiting, address: `0x${string}`): Plain {
  if (kind === 'cancel') {
    const gas = old.type === '0x4' ? CANCEL_GAS_CODE : CANCEL_GAS
    return { nonce: old.nonce, to: address, value: 0n, data: '0x', gas }
  }
  if (old.type === '0x3' || old.type === '0x4') {
    throw new Refusal(
      'The pool does not return blobs and authorizations: only the original sender can send them again.',
    )
  }
  const { nonce, to, value, input, gas } = old
  return { nonce, to: to ?? undefined, value, data: input, gas }
}

async function whichRan({ client }: Connection, hashes: readonly Hash[]): Promise<Hash | undefined> {
  for (const hash of hashes) {
    if (await getTransactionReceipt(client, { hash }).catch(() => undefined)) return hash
  }
  return undefined
}

// --- a transaction of a journal ---

async function inJournal(options: Options, environment: Environment): Promise<number> {
  const { which, kind, journal = '' } = options
  const account = await openAccount(options.key, environment)
  const { client } = await connect(options.url)
  const { database } = filesOf(journal)
  if (!existsSync(database)) throw new Refusal(`${journal} was not sent from here: there is no ${database}.`)
  const store = sqliteStore({ path: database, retentionMs: 100 * 365 * 24 * 3_600_000 })
  const sender = createSender({ client, account, store }) as unknown as Sender
  try {
    const tx = await sender.get(isHash(which) ? { hash: which } : which)
    if (tx === undefined) throw new Refusal(`The journal of ${journal} has no transaction ${which}.`)
    if (!options.yes && !(await confirm(`${kind === 'cancel' ? 'Cancel' : 'Speed up'} ${tx.id}?`, '--yes')))
      return EXIT.refused
    if (kind === 'cancel') {
      const { result } = await tx.cancel()
      await write(options.json ? json({ id: tx.id, result }) : `${tx.id}: ${result}.\n`)
      return result === 'tooLate' ? EXIT.failed : EXIT.held
    }
    await tx.speedUp()
    const landed = await tx.wait('sealed', { timeoutMs: options.timeoutMs })
    await write(
      options.json
        ? json({ id: tx.id, hash: landed.hash, status: landed.status })
        : `${tx.id}: executed as ${landed.hash}.\n`,
    )
    return EXIT.held
  } finally {
    await sender.close()
    await store.close()
  }
}
