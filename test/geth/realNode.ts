import type { Address, Hex } from 'viem'
import { createPlainRpc, type PlainRpc } from '../demo/plainRpc.js'
import {
  type ChainHead,
  type Contents,
  type NodeFlags,
  type PoolView,
  type SendAnswer,
  type Step,
  shortHash,
} from './sequence.js'

/** A running geth that makes a block only on request. */
export type RealNode = {
  readonly client: string
  readonly chainId: number
  /** Gives each of these accounts this amount, in one block. */
  fund(accounts: readonly Address[], wei: bigint): Promise<void>
  send(raws: readonly Hex[]): Promise<readonly SendAnswer[]>
  act(step: Exclude<Step, { kind: 'send' | 'resubmit' }>): Promise<void>
  head(accounts: readonly Address[]): Promise<ChainHead>
  view(accounts: readonly Address[]): Promise<PoolView>
}

/** Arguments for `startNodeProcess`: blocks only on request, and no default that interferes. */
export function gethArgs({ limits, tipWeiMin, noLocals }: NodeFlags): string[] {
  return [
    ...[
      '--dev.period',
      '1000000000',
      '--dev.gaslimit',
      '11500000',
      '--http.api',
      'eth,txpool,miner,debug,testing,web3',
    ],
    ...['--txpool.accountslots', `${limits.accountSlots}`, '--txpool.globalslots', `${limits.globalSlots}`],
    ...['--txpool.accountqueue', `${limits.accountQueue}`, '--txpool.globalqueue', `${limits.globalQueue}`],
    ...['--txpool.pricebump', `${limits.priceBump}`, '--txpool.pricelimit', `${tipWeiMin}`],
    ...(noLocals ? ['--txpool.nolocals'] : []),
  ]
}

type Header = {
  readonly number: Hex
  readonly timestamp: Hex
  readonly gasLimit: Hex
  readonly gasUsed: Hex
  readonly baseFeePerGas: Hex
}

const ZERO_HASH = `0x${'0'.repeat(64)}`
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`

export async function createRealNode(url: string): Promise<RealNode> {
  const rpc = createPlainRpc(url)
  const chainId = Number((await rpc.call('eth_chainId')) as Hex)
  const latest = async () => (await rpc.call('eth_getBlockByNumber', 'latest', false)) as Header

  async function block(transactions?: readonly Hex[]): Promise<void> {
    const { timestamp } = await latest()
    const attributes = {
      timestamp: hex(BigInt(timestamp) + 1n),
      prevRandao: ZERO_HASH,
      suggestedFeeRecipient: ZERO_ADDRESS,
      withdrawals: [],
      parentBeaconBlockRoot: ZERO_HASH,
    }
    await rpc.call('testing_commitBlockV1', attributes, transactions ?? null, null)
  }

  return {
    client: (await rpc.call('web3_clientVersion')) as string,
    chainId,
    async fund(accounts, wei) {
      await block(await signedTransfers(rpc, accounts, wei))
    },
    async send(raws) {
      const calls = raws.map((raw, id) => ({
        jsonrpc: '2.0',
        id,
        method: 'eth_sendRawTransaction',
        params: [raw],
      }))
      return raws.length === 1 ? [answerOf(await post(url, calls[0]))] : await sendBatch(url, calls)
    },
    async act(step) {
      if (step.kind === 'block') return block(step.transactions)
      if (step.kind === 'tipMin') return void (await rpc.call('miner_setGasPrice', hex(step.wei)))
      const { number } = await latest()
      await rpc.call('debug_setHead', hex(Number(number) - step.blocks))
    },
    head: async (accounts) => headOf(await latest(), await statesOf(rpc, accounts)),
    view: (accounts) => viewOf(rpc, accounts),
  }
}

const hex = (value: number | bigint): Hex => `0x${value.toString(16)}`

type RpcAnswer = { readonly id: number; readonly result?: Hex; readonly error?: Exclude<SendAnswer, Hex> }

async function post(url: string, body: unknown): Promise<RpcAnswer> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  return (await response.json()) as RpcAnswer
}

async function sendBatch(url: string, calls: readonly unknown[]): Promise<SendAnswer[]> {
  const answers = (await post(url, calls)) as unknown as RpcAnswer[]
  return answers.sort((a, b) => a.id - b.id).map(answerOf)
}

function answerOf({ result, error }: RpcAnswer): SendAnswer {
  if (error !== undefined) return { code: error.code, message: error.message }
  return result as Hex
}

/** Signed by geth's own development account, which has enough funds. */
async function signedTransfers(rpc: PlainRpc, accounts: readonly Address[], wei: bigint): Promise<Hex[]> {
  const [from] = (await rpc.call('eth_accounts')) as Address[]
  const nonce = Number((await rpc.call('eth_getTransactionCount', from, 'latest')) as Hex)
  const signed = await rpc.all(
    accounts.map((to, index) => {
      const fees = { maxFeePerGas: hex(10n ** 11n), maxPriorityFeePerGas: hex(10n ** 9n) }
      const fields = { from, to, value: hex(wei), nonce: hex(nonce + index), gas: hex(21_000), ...fees }
      return ['eth_signTransaction', fields] as const
    }),
  )
  return (signed as { raw: Hex }[]).map(({ raw }) => raw)
}

async function statesOf(rpc: PlainRpc, accounts: readonly Address[]): Promise<ChainHead['accounts']> {
  const read = async (method: string) =>
    (await rpc.all(accounts.map((address) => [method, address, 'latest'] as const))) as Hex[]
  const nonces = await read('eth_getTransactionCount')
  const balances = await read('eth_getBalance')
  const codes = await read('eth_getCode')
  return accounts.map((_, index) => ({
    nonce: Number(nonces[index]),
    balanceWei: BigInt(balances[index] as Hex).toString(),
    hasCode: codes[index] !== '0x',
  }))
}

function headOf(header: Header, accounts: ChainHead['accounts']): ChainHead {
  const gasLimit = BigInt(header.gasLimit)
  const target = gasLimit / 2n
  const gasUsed = BigInt(header.gasUsed)
  const fee = BigInt(header.baseFeePerGas)
  const moved = (fee * (gasUsed > target ? gasUsed - target : target - gasUsed)) / target / 8n
  // EIP-1559: a rising base fee rises by at least 1 wei.
  const next = gasUsed > target ? fee + (moved > 0n ? moved : 1n) : fee - moved
  return { gasLimit: gasLimit.toString(), nextBaseFeeWei: next.toString(), accounts }
}

type TxpoolContent = Readonly<
  Record<'pending' | 'queued', Readonly<Record<string, Readonly<Record<string, { hash: Hex }>>>>>
>

async function viewOf(rpc: PlainRpc, accounts: readonly Address[]): Promise<PoolView> {
  const counts = (tag: string) =>
    accounts.map((address) => ['eth_getTransactionCount', address, tag] as const)
  // One batch: geth answers its calls one after the other, so that little changes between them.
  const answers = await rpc.all([['txpool_content'], ...counts('latest'), ...counts('pending')])
  const content = answers[0] as TxpoolContent
  const numbers = answers.slice(1).map(Number)
  const of = (part: 'pending' | 'queued'): Contents => {
    const byAddress = new Map(
      Object.entries(content[part]).map(([address, byNonce]) => [address.toLowerCase(), byNonce]),
    )
    return accounts.map((address) =>
      Object.fromEntries(
        Object.entries(byAddress.get(address.toLowerCase()) ?? {}).map(([nonce, { hash }]) => [
          nonce,
          shortHash(hash),
        ]),
      ),
    )
  }
  return {
    latest: numbers.slice(0, accounts.length),
    pendingCounts: numbers.slice(accounts.length),
    pending: of('pending'),
    queued: of('queued'),
  }
}
