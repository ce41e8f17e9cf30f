import { concatHex, encodeAbiParameters, getContractAddress } from 'viem'
import { childContract, ledgerContract } from '../../demo/contracts/artifact.js'
import type { Scenario } from '../types.js'
import { answered, burst, REVERTED, SEND, strictNonces, TRANSFER } from './parts.js'

// geth: core/txpool/legacypool, AccountQueue.
const GAPPED_MAX = 64

const failedEstimate: Scenario = {
  name: 'failed-estimate',
  about: 'Ten payments at once; the gas estimate of the fourth fails.',
  seenIn: [{ where: 'wevm/viem#3142' }, { where: 'ethers-io/ethers.js#972' }],
  refusalsMax: 1,
  async run(stage) {
    stage.world.faults.inject({
      ...REVERTED,
      fault: 'rpcError',
      method: 'eth_estimateGas',
      skip: 3,
      count: 1,
    })
    await answered(burst(stage, 10))
  },
}

const outOfOrder: Scenario = {
  name: 'out-of-order',
  about:
    'Ten payments at once, estimates that take unlike long, and a node that takes only the very next nonce.',
  seenIn: [{ where: 'OffchainLabs/arbitrum-docs#3291' }, { where: 'NomicFoundation/hardhat#7638' }],
  async run(stage) {
    const { faults, firstNonce } = stage.world
    for (const [skip, delayMs] of [120, 60, 90, 30].entries()) {
      faults.inject({ fault: 'delay', method: 'eth_estimateGas', skip, count: 1, delayMs })
    }
    faults.inject(strictNonces(firstNonce))
    await answered(burst(stage, 10))
  },
}

const beyondTheQueue: Scenario = {
  name: 'beyond-the-queue',
  about:
    'Eighty payments at once, the first of which arrives last: the pool keeps 64 gapped ones, and drops without a word.',
  seenIn: [{ where: 'ethereum/go-ethereum#14405' }],
  async run(stage) {
    const { faults, firstNonce } = stage.world
    // Held until enough other requests have arrived that some were dropped, unless it is the first to arrive.
    const others = new Set<number>()
    const match = ({ nonce }: { nonce?: number }) => {
      if (nonce === undefined || nonce === firstNonce) return nonce === firstNonce
      others.add(nonce)
      return others.size > GAPPED_MAX + 4
    }
    faults.inject({ fault: 'reorder', delayMs: 3_000, method: SEND, count: 1, match })
    await answered(
      burst(stage, 80, { ...TRANSFER, maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }),
    )
  },
}

const delegatedAccount: Scenario = {
  name: 'delegated-account',
  about: 'Ten payments at once from an account with delegated code (EIP-7702): the pool takes four of them.',
  seenIn: [{ where: 'base/base#2347' }, { where: 'GLEECBTC/komodo-defi-framework#2647' }],
  async prepare({ account, devnet }) {
    const code = concatHex(['0xef0100', devnet.accounts[0]!.address])
    await devnet.client().request({ method: 'anvil_setCode', params: [account.address, code] } as never)
    return []
  },
  async run(stage) {
    await answered(burst(stage, 10))
  },
}

const needsTheEarlier: Scenario = {
  name: 'needs-the-earlier',
  about: 'Two deployments at once; the second needs the first, and its estimate reverts until that is there.',
  seenIn: [{ where: 'OpenZeppelin/openzeppelin-sdk#198' }, { where: 'raiden-network/raiden#5877' }],
  async run(stage) {
    const { account, firstNonce } = stage.world
    const ledger = getContractAddress({ from: account.address, nonce: BigInt(firstNonce) })
    const parameters = encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [ledger, 1n])
    const first = stage.pay({ data: ledgerContract.bytecode, value: 0n })
    const second = stage.pay({ data: concatHex([childContract.bytecode, parameters]), value: 0n })
    await answered([first, second])
  },
}

const tooExpensive: Scenario = {
  name: 'too-expensive',
  about: 'Five payments at once; the third is for more than the account has.',
  seenIn: [{ where: 'omgnetwork/ewallet#1166', notAPackage: true }, { where: 'ethers-io/ethers.js#972' }],
  refusalsMax: 1,
  async run(stage) {
    const asked = [1n, 1n, 10n ** 24n, 1n, 1n].map((value) => stage.pay({ value }))
    await answered(asked)
  },
}

const rateLimited: Scenario = {
  name: 'rate-limited',
  about: 'The node has no time for the second of three payments that are made one after the other.',
  seenIn: [{ where: 'wevm/viem#4364' }, { where: 'RequestNetwork/requestNetwork#1326' }],
  refusalsMax: 1,
  async run(stage) {
    await stage.pay().ended
    const message = 'over rate limit'
    stage.world.faults.inject({ fault: 'rpcError', code: -32_016, message, method: SEND, count: 1 })
    await stage.pay().sent
    await stage.pay().sent
  },
}

export const bursts: readonly Scenario[] = [
  failedEstimate,
  outOfOrder,
  beyondTheQueue,
  delegatedAccount,
  needsTheEarlier,
  tooExpensive,
  rateLimited,
]
