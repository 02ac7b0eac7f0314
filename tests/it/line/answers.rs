//! Answers of the sandbox that are none. The checks are those of `answers.rs`.

use rewild::sandbox::{Sandbox, Settings};

use crate::answers;

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_write_says_nothing_of_the_server() {
    let sandbox = Sandbox::start(Settings::default()).await.unwrap();
    answers::a_slow_write_says_nothing_of_the_server(&sandbox).await;
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_is_asked_for_again() {
    let sandbox = Sandbox::start(Settings::default()).await.unwrap();
    answers::a_deletion_is_asked_for_again(&sandbox).await;
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_from_which_nothing_comes_is_asked() {
    let sandbox = Sandbox::start(Settings::default()).await.unwrap();
    answers::a_server_from_which_nothing_comes_is_asked(&sandbox).await;
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_begins_anew_after_its_version_is_forgotten() {
    let sandbox = Sandbox::start(Settings::default()).await.unwrap();
    answers::a_watch_begins_anew_after_its_version_is_forgotten(&sandbox).await;
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_grows_too_old_comes_without_pages() {
    let sandbox = Sandbox::start(Settings::default()).await.unwrap();
    answers::a_list_that_grows_too_old_comes_without_pages(&sandbox).await;
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_stood_still_listens_anew() {
    let sandbox = Sandbox::start(Settings::default()).await.unwrap();
    answers::a_process_that_stood_still_listens_anew(&sandbox).await;
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_set_of_another_tool_is_left_alone() {
    let sandbox = Sandbox::start(Settings::default()).await.unwrap();
    answers::the_set_of_another_tool_is_left_alone(&sandbox).await;
    sandbox.stop().await;
}
