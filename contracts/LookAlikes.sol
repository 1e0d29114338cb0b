// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

// Contracts that behave almost like a plain transfer. Only tests deploy them.

interface Token {
    function transfer(address to, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

/// Spends the allowance of its caller: the value arrives, yet nobody called the token directly.
contract Router {
    function pay(Token token, address to, uint256 value) external {
        require(token.transferFrom(msg.sender, to, value), "not paid");
    }
}

/// What an upgraded account (EIP-7702) delegates to: it makes the calls it is given, for whoever asks.
contract BatchAccount {
    struct Call {
        address to;
        bytes data;
    }

    function execute(Call[] calldata calls) external payable {
        for (uint256 i = 0; i < calls.length; i++) {
            (bool done, ) = calls[i].to.call(calls[i].data);
            require(done, "a call failed");
        }
    }

    receive() external payable {}
}

/// Says false instead of failing, moves nothing and logs nothing: the transaction still succeeds.
contract SilentToken {
    uint8 public constant decimals = 6;
    string public constant symbol = "USDC";

    function transfer(address, uint256) external pure returns (bool) {
        return false;
    }
}

/// Logs the full amount and delivers nine tenths.
contract FeeToken {
    event Transfer(address indexed from, address indexed to, uint256 value);

    uint8 public constant decimals = 6;
    string public constant symbol = "FEE";
    mapping(address => uint256) public balanceOf;

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value - value / 10;
        emit Transfer(msg.sender, to, value);
        return true;
    }
}

/// Logs whatever it is told, with the topics of a real transfer.
contract LogForger {
    event Transfer(address indexed from, address indexed to, uint256 value);

    function forge(address from, address to, uint256 value) external {
        emit Transfer(from, to, value);
    }
}
