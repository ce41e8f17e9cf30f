import solc from 'solc'
import type { Abi, Hex } from 'viem'

/** What accounts delegate to: it counts how often it was marked, in the account's own storage, and makes contracts. */
const SOURCE = `
// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Child {}
contract Delegate {
    mapping(uint256 => uint256) public marks;
    function mark(uint256 item) external { marks[item] += 1; }
    function create(uint256 times) external { for (uint256 i = 0; i < times; i++) new Child(); }
    receive() external payable {}
}`

const SETTINGS = {
  evmVersion: 'paris',
  optimizer: { enabled: true, runs: 200 },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
}

type Output = {
  readonly errors?: readonly { readonly formattedMessage: string }[]
  readonly contracts?: Record<string, Record<string, { abi: Abi; evm: { bytecode: { object: string } } }>>
}

/** @throws Error with the compiler's words, warnings included */
export function compileDelegate(): { readonly abi: Abi; readonly bytecode: Hex } {
  const sources = { 'Delegate.sol': { content: SOURCE } }
  const input = { language: 'Solidity', sources, settings: SETTINGS }
  const output = JSON.parse(solc.compile(JSON.stringify(input)) as string) as Output
  if (output.errors?.length) throw new Error(output.errors.map((one) => one.formattedMessage).join('\n'))
  const contract = output.contracts?.['Delegate.sol']?.Delegate
  if (contract === undefined) throw new Error('the compiler gave no contract')
  return { abi: contract.abi, bytecode: `0x${contract.evm.bytecode.object}` }
}
