// SPDX-License-Identifier: MIT
pragma solidity ^0.8.37;

/// Counts the executions of each item, so that the chain itself shows duplicates and missing items.
contract Ledger {
    mapping(uint256 item => uint256 times) public marks;
    uint256 public total;

    error Refused(uint256 item);

    /// The ledger's own deployment is item 0. Because `total` is never zero, the first mark costs as much gas as later
    /// ones, so that an estimate stays valid when a reorganisation removes earlier marks.
    constructor() {
        marks[0] = 1;
        total = 1;
    }

    function mark(uint256 item) external {
        marks[item] += 1;
        total += 1;
    }

    /// Always reverts: its writes must be undone.
    function markAndRevert(uint256 item) external {
        marks[item] += 1;
        total += 1;
        revert Refused(item);
    }
}

/// A contract whose deployment carries an item number and marks it.
contract Child {
    uint256 public immutable item;

    constructor(Ledger ledger, uint256 item_) {
        item = item_;
        ledger.mark(item_);
    }
}
