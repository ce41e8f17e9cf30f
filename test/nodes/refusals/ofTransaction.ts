import {
  concat,
  type Hex,
  keccak256,
  type LocalAccount,
  numberToHex,
  parseEther,
  parseGwei,
  parseSignature,
  type TransactionSerializableEIP1559,
  toHex,
  toRlp,
} from 'viem'
import { fund } from '../tools/accounts.js'
import {
  FEES,
  NOBODY,
  type Signed,
  signed,
  TRANSFER_GAS,
  type Workbench,
  withHash,
} from '../tools/workbench.js'
import type { RefusalName } from './names.js'
import type { Refusal } from './refusal.js'

export const anotherChain: Refusal = {
  name: 'another chain',
  async provoke(bench) {
    const account = await bench.account()
    const one = await bench.sign(account, { chainId: bench.chainId + 1 })
    return { signed: one, account, free: 0 }
  },
}

/** Signed without a chain id, as before EIP-155. */
export const unprotected: Refusal = {
  name: 'unprotected',
  async provoke(bench) {
    const account = await bench.account()
    const fields = {
      to: NOBODY,
      value: 1n,
      nonce: bench.firstNonce,
      gas: TRANSFER_GAS,
      gasPrice: FEES.maxFeePerGas,
    }
    const one = await signed(account, { type: 'legacy', ...fields } as const)
    return { signed: one, account, free: 0 }
  },
}

/** Half of the head's base fee, because each empty block lowers it by an eighth. */
export const belowBaseFee: Refusal = {
  name: 'max fee below the base fee',
  needs: 'fresh',
  async provoke(bench) {
    const account = await bench.account()
    const { running } = bench
    const head = (await running.rpc.call('eth_getBlockByNumber', 'latest', false)) as { baseFeePerGas: Hex }
    const fee = BigInt(head.baseFeePerGas) / 2n
    const cure = async () => {
      for (let blocks = 0; blocks < 8; blocks++) await running.mine()
    }
    const fees = { maxFeePerGas: fee, maxPriorityFeePerGas: fee / 4n }
    return { signed: await bench.sign(account, fees), account, cure }
  },
}

export const noTip: Refusal = {
  name: 'tip of 0',
  async provoke(bench) {
    const account = await bench.account()
    return { signed: await bench.sign(account, { maxPriorityFeePerGas: 0n }), account, free: 0 }
  },
}

export const costsMuch: Refusal = {
  name: 'fee above one ether',
  async provoke(bench) {
    const account = await bench.account()
    const fields = { gas: 10_000_000n, maxFeePerGas: parseGwei('200') }
    return { signed: await bench.sign(account, fields), account, free: 0 }
  },
}

const ETHER = parseEther('1')

export const noFunds: Refusal = {
  name: 'no funds',
  async provoke(bench) {
    const account = await bench.account(0n)
    const cure = () => fund(bench.running, account.address, ETHER)
    return { signed: await bench.sign(account), account, cure }
  },
}

/** The account can pay either of the two, but not both. */
export const noFundsForSecond: Refusal = {
  name: 'no funds for the second',
  // It may keep the node from making blocks.
  needs: 'fresh',
  async provoke(bench) {
    const account = await bench.account((ETHER * 3n) / 2n)
    const first = await bench.sign(account, { value: ETHER })
    const signed = await bench.sign(account, { nonce: 1, value: ETHER })
    // Seen: while geth's pool moves on to a new block, it takes the second one, and drops it afterwards.
    await bench.running.mine()
    await bench.take(first)
    // Funds both, because the node may not have mined the first one either.
    const cure = () => fund(bench.running, account.address, 3n * ETHER)
    return { signed, account, cure }
  },
}

type Fields = Partial<TransactionSerializableEIP1559>

const withGas = (name: RefusalName, fields: (bench: Workbench) => Promise<Fields>): Refusal => ({
  name,
  async provoke(bench) {
    const account = await bench.account()
    return { signed: await bench.sign(account, await fields(bench)), account, free: 0 }
  },
})

export const gas: readonly Refusal[] = [
  withGas('gas below the intrinsic cost', async () => ({ gas: 20_999n })),
  // 21,000 and 16 for each byte is 37,000; the floor is 21,000 and 40 for each byte.
  withGas('gas below the floor of EIP-7623', async () => ({
    gas: 40_000n,
    data: `0x${'ff'.repeat(1_000)}` as const,
  })),
  withGas('gas above the block', async ({ running }) => {
    const head = (await running.rpc.call('eth_getBlockByNumber', 'latest', false)) as { gasLimit: Hex }
    // Well above the limit, which geth raises by 1/1024 with each block.
    return { gas: (BigInt(head.gasLimit) * 11n) / 10n }
  }),
  // EIP-7825.
  withGas('gas above 2^24', async () => ({ gas: 2n ** 24n + 1n })),
]

const HIGHEST_NONCE = 2n ** 64n - 1n
/** The order of secp256k1. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
/** No point of the curve has this x. */
const NO_POINT: Hex = '0x05'

const malformed = (
  name: RefusalName,
  make: (account: LocalAccount, bench: Workbench) => Promise<Signed>,
): Refusal => ({
  name,
  async provoke(bench) {
    const account = await bench.account()
    return { signed: await make(account, bench), account, free: 0 }
  },
})

export const invalid: readonly Refusal[] = [
  malformed('type 4 without a tuple', (account, bench) =>
    signFields(account, '0x04', [...fieldsOf(bench), []]),
  ),
  malformed('tip above the max fee', (account, bench) =>
    signFields(account, '0x02', fieldsOf(bench, { maxPriorityFeePerGas: FEES.maxFeePerGas + 1n })),
  ),
  malformed('signature of no key', (account, bench) =>
    signFields(account, '0x02', fieldsOf(bench), ({ s }) => ({ r: NO_POINT, s, yParity: 0 })),
  ),
  malformed('upper half of the curve', (account, bench) =>
    signFields(account, '0x02', fieldsOf(bench), ({ r, s, yParity }) => ({
      r,
      s: numberToHex(ORDER - BigInt(s)),
      yParity: 1 - yParity,
    })),
  ),
  malformed('highest nonce', (account, bench) =>
    signFields(account, '0x02', fieldsOf(bench, { nonce: HIGHEST_NONCE })),
  ),
  malformed('no transaction at all', async () => withHash('0x02c0ffee')),
]

const zeros = (bytes: number) => `0x${'00'.repeat(bytes)}` as const

/** One byte above the limit of EIP-3860. */
export const initCode: Refusal = {
  name: 'init code of 49,153 bytes',
  async provoke(bench) {
    const account = await bench.account()
    const fields = { to: null, value: 0n, data: zeros(49_153), gas: 1_000_000n }
    return { signed: await bench.sign(account, fields), account, free: 0 }
  },
}

/** geth's pool accepts 128 KiB in total. */
export const data: Refusal = {
  name: 'data of 131,072 bytes',
  async provoke(bench) {
    const account = await bench.account()
    const fields = { data: zeros(131_072), gas: 2_000_000n }
    return { signed: await bench.sign(account, fields), account, free: 0 }
  },
}

type Rlp = Hex | readonly Rlp[]
type Signature = { readonly r: Hex; readonly s: Hex; readonly yParity: number }

/** The fields of a type 2 transaction, a transfer of 1 wei, in the order in which they are signed. */
type NamedFields = {
  readonly nonce?: bigint
  readonly maxPriorityFeePerGas?: bigint
  readonly maxFeePerGas?: bigint
}

function fieldsOf({ chainId, firstNonce }: Workbench, fields: NamedFields = {}): readonly Rlp[] {
  const { nonce, ...fees } = { nonce: BigInt(firstNonce), ...FEES, ...fields }
  const numbers = [BigInt(chainId), nonce, fees.maxPriorityFeePerGas, fees.maxFeePerGas, TRANSFER_GAS]
  return [...numbers.map(quantity), NOBODY, quantity(1n), '0x', []]
}

/**
 * Signs the fields unchecked, because viem serialises no transaction that it knows to be invalid. `alter`
 * changes the signature.
 */
async function signFields(
  account: LocalAccount,
  type: Hex,
  fields: readonly Rlp[],
  alter: (signature: Signature) => Signature = (signature) => signature,
): Promise<Signed> {
  if (account.sign === undefined) throw new Error('the account signs no hash')
  const made = await account.sign({ hash: keccak256(concat([type, toRlp(fields as never)])) })
  const { r, s, yParity } = parseSignature(made)
  const signature = alter({ r, s, yParity: yParity ?? 0 })
  const parts = [quantity(BigInt(signature.yParity)), trimmed(signature.r), trimmed(signature.s)]
  return withHash(concat([type, toRlp([...fields, ...parts] as never)]))
}

/** RLP has no leading zeros, and encodes 0 as the empty string. */
function quantity(value: bigint): Hex {
  return value === 0n ? '0x' : toHex(value)
}

function trimmed(word: Hex): Hex {
  return quantity(BigInt(word))
}
