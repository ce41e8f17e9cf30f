import { type Address, createPublicClient, getContractAddress, type Hex, http } from 'viem'
import {
  getBlockByNumber,
  getBlockReceipts,
  getCode,
  getStorageAt,
  getTransactionCount,
  isTxlaneError,
} from '../../../src/index.js'
import type { RunningNode } from '../run/startNode.js'
import { openWorkbench, type Workbench } from '../tools/workbench.js'
import type { NodeCase } from './nodeCase.js'

/** Stores 7 at slot 0 and leaves one byte of code. */
const CONTRACT: Hex = '0x60076000556001601160003960016000f300'
const TAGS = ['latest', 'pending', 'safe', 'finalized', 'earliest'] as const
const SLOT = '0x0'
const REFUSED = 'refused'

type Selector = (typeof TAGS)[number] | Hex | bigint | number
type Read = {
  readonly method: string
  readonly params: (block: string) => readonly unknown[]
  /** The library's result, as a text to compare. */
  readonly read: (block: Selector) => Promise<string>
  /** The node's own answer, in the same form. */
  readonly decode: (result: never, block: string) => string
  /** The expected value at the latest block. */
  readonly latest?: string
}

/**
 * The five reads return at every selector the same as the node itself, or a typed error that names the
 * method.
 */
export const reads: NodeCase = {
  name: 'five reads at every selector',
  quick: true,
  async run(setting) {
    const running = await setting.shared('manual')
    await using bench = await openWorkbench(running)
    const { account, contract } = await written(bench)
    const head = (await running.rpc.call('eth_blockNumber')) as Hex
    const selectors: readonly Selector[] = [...TAGS, head, BigInt(head), Number(head)]
    const all = readsOf(running.url, { account, contract, used: bench.firstNonce + 2 })
    let answered = 0
    const lacking = new Set<string>()
    const wrong: string[] = []
    for (const one of all) {
      for (const selector of selectors) {
        const asked = await asLibrary(one, selector)
        const reported = await asNode(running, one, typeof selector === 'string' ? selector : head)
        const known = selector === 'latest' && reported !== REFUSED ? (one.latest ?? reported) : reported
        if (asked !== reported || reported !== known)
          wrong.push(`${one.method} at ${selector}: read ${asked}, answered ${reported}, expected ${known}`)
        else if (asked === REFUSED) lacking.add(one.method)
        else answered++
      }
    }
    const pending = await getTransactionCount(clientOf(running.url), { address: account, block: 'pending' })
    const says = [
      `${answered} of ${all.length * selectors.length} answered`,
      ...[...lacking].map((method) => `the node has no ${method}`),
      `pending counts ${pending - bench.firstNonce} of 2 mined and 1 pooled`,
    ]
    return { ok: wrong.length === 0, says: [...says, ...wrong].join('; ') }
  },
}

/** Two blocks with a contract and a transfer, and one transaction that waits in the pool. */
async function written(bench: Workbench): Promise<{ account: Address; contract: Address }> {
  const account = await bench.account()
  await bench.execute(await bench.sign(account, { to: null, value: 0n, data: CONTRACT, gas: 200_000n }))
  await bench.execute(await bench.sign(account, { nonce: 1 }))
  await bench.take(await bench.sign(account, { nonce: 2 }))
  const nonce = BigInt(bench.firstNonce)
  return { account: account.address, contract: getContractAddress({ from: account.address, nonce }) }
}

async function asLibrary({ method, read }: Read, selector: Selector): Promise<string> {
  try {
    return await read(selector)
  } catch (error) {
    const named = isTxlaneError(error) && error.message.includes(method)
    return named ? REFUSED : `an error without the method: ${error}`
  }
}

async function asNode({ rpc }: RunningNode, { method, params, decode }: Read, block: string) {
  const answer = await rpc.call(method, ...params(block)).then(
    (result) => ({ result }),
    () => undefined,
  )
  return answer === undefined ? REFUSED : decode(answer.result as never, block)
}

const clientOf = (url: string) => createPublicClient({ transport: http(url) })

type Block = { readonly number: unknown; readonly hash: unknown; readonly transactions: readonly unknown[] }
type Receipt = { readonly transactionHash: Hex; readonly gasUsed: Hex | bigint }

/** A node may build each pending block anew, with another hash. */
const blockText = (one: Block | null, block: Selector) =>
  one === null ? 'null' : `${one.number} ${block === 'pending' ? '' : one.hash} ${one.transactions}`
const receiptsText = (all: readonly Receipt[] | null) =>
  all === null
    ? 'null'
    : all.map(({ transactionHash, gasUsed }) => `${transactionHash} ${BigInt(gasUsed)}`).join()
const numberOf = (hex: Hex | null) => (hex === null ? null : BigInt(hex))

type Written = { readonly account: Address; readonly contract: Address; readonly used: number }

function readsOf(url: string, { account, contract, used }: Written): readonly Read[] {
  const client = clientOf(url)
  return [
    {
      method: 'eth_getBlockByNumber',
      params: (block) => [block, false],
      read: async (block) => blockText(await getBlockByNumber(client, { block }), block),
      decode: (one: (Block & { number: Hex | null }) | null, block) =>
        blockText(one === null ? null : { ...one, number: numberOf(one.number) }, block as Hex),
    },
    {
      method: 'eth_getBlockReceipts',
      params: (block) => [block],
      read: async (block) => receiptsText(await getBlockReceipts(client, { block })),
      decode: receiptsText,
    },
    {
      method: 'eth_getStorageAt',
      params: (block) => [contract, SLOT, block],
      read: async (block) =>
        `${BigInt(await getStorageAt(client, { address: contract, slot: SLOT, block }))}`,
      decode: (word: Hex) => `${word === '0x' ? 0n : BigInt(word)}`,
      latest: '7',
    },
    {
      method: 'eth_getTransactionCount',
      params: (block) => [account, block],
      read: async (block) => `${await getTransactionCount(client, { address: account, block })}`,
      decode: (count: Hex) => `${Number(count)}`,
      latest: `${used}`,
    },
    {
      method: 'eth_getCode',
      params: (block) => [contract, block],
      read: (block) => getCode(client, { address: contract, block }),
      decode: (code: Hex) => code,
      latest: '0x00',
    },
  ]
}
