import { type Contract, ContractFactory, type InterfaceAbi, JsonRpcProvider } from 'ethers'
import { type LaneSigner, type LaneSignerOptions, laneSigner } from '../../src/ethers/index.js'
import { createSender, memoryStore, type Sender } from '../../src/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { compile } from '../support/compile.js'

const SOURCE = `
// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Book {
    event Stored(address indexed by, uint256 indexed value);
    error Refused(uint256 value, string why);
    uint256 public value;
    mapping(uint256 => uint256) public times;
    constructor(uint256 first) { value = first; }
    function set(uint256 next) external payable {
        if (next == 0) revert Refused(next, "zero");
        require(next != 1, "one");
        assert(next != 2);
        value = next;
        times[next] += 1;
        emit Stored(msg.sender, next);
    }
}`

const { abi, bytecode } = compile('Book', SOURCE)
export const bookAbi = abi as unknown as InterfaceAbi

/** A lane with an ethers signer, as existing code would hold it. */
export type Hand = {
  readonly sender: Sender
  readonly signer: LaneSigner
  readonly provider: JsonRpcProvider
  /** The methods that ethers' provider requested, in order. */
  readonly asked: string[]
}

/** A devnet and all resources that a test opens on it. */
export async function startEthersWorld() {
  // The base fee is constant, so that a fee below it stays below it.
  const devnet: Devnet = await startDevnet({
    blockTimeMs: 400,
    flashblockMs: 200,
    accounts: 30,
    baseFee: 'constant',
  })
  const closers: (() => Promise<void> | void)[] = []
  let next = 1

  function providerOf(): { provider: JsonRpcProvider; asked: string[] } {
    const network = devnet.chain.id
    const options = { staticNetwork: true, pollingInterval: 50 }
    const provider = new JsonRpcProvider(devnet.url, network, options)
    const asked: string[] = []
    void provider.on('debug', ({ action, payload }: { action: string; payload: unknown }) => {
      if (action !== 'sendRpcPayload') return
      for (const one of [payload].flat()) asked.push((one as { method: string }).method)
    })
    closers.push(() => provider.destroy())
    return { provider, asked }
  }

  return {
    devnet,
    providerOf,
    /** Opens a lane for an account that no other test uses. */
    open(
      options: Omit<LaneSignerOptions, 'account'> & {
        readonly starved?: 'fail'
        readonly stuckAfterMs?: number
      } = {},
    ): Hand {
      const { starved, stuckAfterMs = 60_000, ...rest } = options
      const index = next++
      const account = devnet.accounts[index]!
      const sender = createSender({
        client: devnet.client(index),
        store: memoryStore(),
        lossDepth: 'child',
        starved,
        // Machines are shared, and a slow answer must not count as a missing one.
        limits: { stuckAfterMs, readTimeoutMs: 30_000, sendTimeoutMs: 30_000 },
      })
      closers.push(() => sender.close())
      const { provider, asked } = providerOf()
      return { sender, signer: laneSigner(sender, provider, { ...rest, account }), provider, asked }
    },
    /** The contract, deployed by the signer. */
    async book(signer: LaneSigner): Promise<Contract> {
      const made = await new ContractFactory(bookAbi, bytecode, signer).deploy(7)
      return (await made.waitForDeployment()) as Contract
    },
    async end(): Promise<void> {
      await Promise.all(closers.map((close) => close()))
      await devnet.stop()
    },
  }
}

export type EthersWorld = Awaited<ReturnType<typeof startEthersWorld>>

/** The rejection of a promise. */
export function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error('it resolved')
    },
    (error: unknown) => error,
  )
}

/** A contract's method by its name, because ethers derives the methods from the ABI. */
export const method = (contract: Contract, name: string) => contract.getFunction(name)
