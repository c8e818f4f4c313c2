//! Users and conversations, as in tutorials about agents.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;
use switchboard::service;

use super::bounded::{Bounded, Bounds};
use super::faults::Unacceptable;

/// How many conversations are kept. The oldest makes room for a new one.
const CONVERSATIONS: usize = 1000;

/// Maximum length of a session identifier and of a message, in characters.
const LONGEST_SESSION: usize = 64;
const LONGEST_MESSAGE: usize = 1000;

/// A user of the demo.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct User {
    id: u32,
    name: &'static str,
}

/// What else is known about a user.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Profile {
    id: u32,
    name: &'static str,
    email: String,
    /// What the user may do.
    roles: Vec<&'static str>,
}

/// The state of a conversation after a message.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Turn {
    session_id: String,
    /// How many messages this conversation has had.
    turn: u64,
    reply: String,
}

const USERS: [(&str, &[&str]); 3] = [("Alice", &["admin"]), ("Bob", &["teller"]), ("Carol", &[])];

/// The number of a user.
struct UserNumber;

impl Bounds for UserNumber {
    type Of = u32;
    const NAME: &'static str = "id";
    const LEAST: u32 = 1;
    const MOST: Option<u32> = Some(USERS.len() as u32);
}

/// The methods about users.
#[derive(Default)]
pub(super) struct Users {
    conversations: Mutex<VecDeque<Conversation>>,
}

struct Conversation {
    session: String,
    turns: u64,
    last: String,
}

#[service]
impl Users {
    /// Returns the user with this number, from 1 to 3.
    #[method(safe, name = "getUser", tag = "users", example(name = "the first", params = [1], result = {"id": 1, "name": "Alice"}))]
    fn get_user(&self, id: Bounded<UserNumber>) -> Result<User, Unacceptable> {
        let (id, name, _) = user(&id)?;
        Ok(User { id, name })
    }

    /// Returns the profile of the user with this number, from 1 to 3.
    #[method(safe, name = "getUserProfile", tag = "users")]
    fn get_user_profile(&self, id: Bounded<UserNumber>) -> Result<Profile, Unacceptable> {
        let (id, name, roles) = user(&id)?;
        Ok(Profile { id, name, email: format!("{}@example.com", name.to_lowercase()), roles: roles.to_vec() })
    }

    /// Continues the conversation with this identifier, or starts it.
    ///
    /// The server remembers the last message of each conversation, whichever connection it came over.
    #[method(name = "continueChat", tag = "users")]
    fn continue_chat(
        &self,
        /// The identifier of the conversation, chosen by the caller.
        session_id: String,
        message: String,
    ) -> Result<Turn, Unacceptable> {
        let is_short = |text: &str, most: usize| text.chars().nth(most).is_none();
        if session_id.is_empty() || !is_short(&session_id, LONGEST_SESSION) {
            return Err(Unacceptable(
                format!("session_id must have 1 to {LONGEST_SESSION} characters").into(),
            ));
        }
        if !is_short(&message, LONGEST_MESSAGE) {
            return Err(Unacceptable(
                format!("message must have at most {LONGEST_MESSAGE} characters").into(),
            ));
        }
        Ok(self.turn(session_id, message))
    }
}

impl Users {
    fn turn(&self, session_id: String, message: String) -> Turn {
        let mut conversations = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        let found = conversations.iter().position(|conversation| conversation.session == session_id);
        let mut conversation = match found.and_then(|index| conversations.remove(index)) {
            Some(conversation) => conversation,
            None => Conversation { session: session_id.clone(), turns: 0, last: String::new() },
        };
        conversation.turns += 1;
        let turn = conversation.turns;
        let reply = match turn {
            1 => format!("You said {message:?}."),
            _ => format!("You said {message:?}; before that, {:?}.", conversation.last),
        };
        conversation.last = message;
        conversations.push_back(conversation);
        if conversations.len() > CONVERSATIONS {
            conversations.pop_front();
        }
        Turn { session_id, turn, reply }
    }
}

fn user(id: &Bounded<UserNumber>) -> Result<(u32, &'static str, &'static [&'static str]), Unacceptable> {
    let id = id.get()?;
    // The bounds are those of the list.
    let (name, roles) = USERS[id as usize - 1];
    Ok((id, name, roles))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_goes_on_and_the_oldest_makes_room() {
        let users = Users::default();
        let say = |session: &str, message: &str| users.turn(session.to_owned(), message.to_owned());
        assert_eq!(say("a", "hello").turn, 1);
        let second = say("a", "again");
        assert_eq!((second.turn, &*second.reply), (2, "You said \"again\"; before that, \"hello\"."));
        for other in 0..CONVERSATIONS {
            say(&other.to_string(), "x");
        }
        assert_eq!(say("a", "hello").turn, 1);
        assert_eq!(users.conversations.lock().unwrap().len(), CONVERSATIONS);
    }
}
