import type { Abi, Hex } from 'viem'
import { compile } from './compile.js'

/**
 * The contract that accounts delegate to. It counts calls of its `mark` in the account's own storage, and
 * creates contracts.
 */
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

/** @throws Error with the compiler's messages, warnings included */
export function compileDelegate(): { readonly abi: Abi; readonly bytecode: Hex } {
  return compile('Delegate', SOURCE)
}
